"""Data: table -> columns -> bins -> pages."""
