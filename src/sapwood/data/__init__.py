"""table -> columns -> bins -> pages."""
