"""Files that mean harm: mutations of good ones (`python -m fuzz`), and a target for atheris (`python -m fuzz.atheris_target`).

Reading order: seeds (the golden files) -> mutations -> judge (what may come of a file) -> wrappers, imports, containers (other kinds of
input) -> kinds -> __main__ (processes that may die).
"""
