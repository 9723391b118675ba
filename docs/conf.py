"""Configuration of Sphinx. `make docs` builds the pages in build/docs."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("SPHINX", "1")

from docstrings import prepare, short_signature
from migration import write_tables

import sapwood

project = "Sapwood"
author = "The Sapwood developers"
project_copyright = "The Sapwood developers"
version = release = sapwood.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["generated/migration-*.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache", "ref.python"]  # words of types that are names of attributes
default_role = "code"  # docstrings have names in single backticks
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say what parameters take
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
templates_path = ["templates"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"Sapwood {release}"
html_static_path = ["static"]
html_css_files = ["sapwood.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("install", "tour", "how_it_works", "migration", "faq", "features")}
html_theme_options = {
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "show_signature": False,
    "abort_on_example_error": True,
    "write_computation_times": False,  # these pages load scripts from other hosts
    "matplotlib_animations": False,
}
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")

write_tables(Path(__file__).parent / "generated")


def setup(app):
    """Prepare docstrings before napoleon reads them."""
    app.connect("autodoc-process-docstring", prepare, priority=100)
    app.connect("autodoc-process-signature", short_signature)
