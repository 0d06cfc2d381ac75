"""Reports as pages: one HTML file that is opened from disk, with pictures that can be zoomed and are linked."""

from __future__ import annotations

from match.report.html.compare import compare_page
from match.report.html.library import check_libraries
from match.report.html.page import HTML_ENDINGS, Page, page, write_page

__all__ = ["HTML_ENDINGS", "Page", "check_libraries", "compare_page", "page", "write_page"]
