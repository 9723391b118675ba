"""Tables in files: which files, their formats, reading and writing. One file per format."""
