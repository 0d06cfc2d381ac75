"""The picture of README.md: `MATCH_MODELS=FOLDER python -m tests.picture` draws the page of ResNet8 on GAP9."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import match
from match.report.html import write_page
from tests.pages import DOCS

FILE = DOCS / "report.webp"
WIDTH, HEIGHT = 1280, 1000


def draw(page: Path) -> Image.Image:
    """The upper part of a page, as Chromium draws it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.wait_for_selector("canvas")
        tab.wait_for_timeout(1000)
        picture = tab.screenshot()
        browser.close()
    return Image.open(io.BytesIO(picture))


if __name__ == "__main__":
    model = Path(os.environ["MATCH_MODELS"]) / "pretrainedResnet_quant.tflite"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_page(page, match.compile(model, "gap9", name="resnet8").report)
        draw(page).save(FILE, lossless=True, method=6)
