# SPDX-License-Identifier: MIT
"""Sphinx's settings. build.py makes the pages, and passes the version."""
import os

project = "Holdfast"
version = release = os.environ.get("HF_DOCS_VERSION", "")
copyright = "the Holdfast authors, MIT licence"  # noqa: A001 - Sphinx's own name

extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_include/*"]
primary_domain = "c"
highlight_language = "c"
pygments_style = "xcode"
pygments_dark_style = "github-dark"
smartquotes = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

html_theme = "furo"
html_title = "Holdfast %s" % release
html_static_path = ["_static"]
html_css_files = ["holdfast.css"]
html_search_scorer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_static", "search.js")
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False
html_theme_options = {"navigation_with_keys": True}

# Code in Markdown may have "..." for omitted parts.
suppress_warnings = ["misc.highlighting_failure"]
