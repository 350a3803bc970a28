"""For the site of the documents: links to files of the repository that are no pages become plain words."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Leave the words of a link whose file is in the repository and not on the site; what is nowhere stays, and fails."""
    root = Path(config.docs_dir)
    folder = PurePosixPath(page.file.src_uri).parent

    def plain(match: re.Match[str]) -> str:
        target = (root / folder / match[2]).resolve()
        is_page = target.is_relative_to(root) and target.is_file()
        return match[0] if is_page or not target.exists() else match[1]

    return _LINK.sub(plain, markdown)
