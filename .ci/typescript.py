"""Download the TypeScript compiler, which checks the types of the page's scripts in the tests.

Usage: python .ci/typescript.py FOLDER

It runs on the Node.js that playwright brings. If it cannot be downloaded, the check is skipped and nothing fails.
"""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
import urllib.request
from pathlib import Path

ADDRESS = "https://registry.npmjs.org/typescript/-/typescript-5.9.3.tgz"
SHA512 = "jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw=="
NEEDED = ("package/lib/tsc.js", "package/lib/_tsc.js", "package/package.json", "package/LICENSE.txt")
SECONDS = 20  # without an answer


def main() -> None:
    """Put the compiler into the folder."""
    folder = Path(sys.argv[1])
    try:
        with urllib.request.urlopen(ADDRESS, timeout=SECONDS) as response:
            data = response.read()
    except OSError as error:
        print(f"TypeScript could not be downloaded, so the types of the page's scripts are not checked: {error}")
        return
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != SHA512:
        sys.exit(f"{ADDRESS}: the checksum differs. Check the network, or the address and the checksum in .ci/.")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [member for member in archive if member.name in NEEDED or member.name.endswith(".d.ts")]
        archive.extractall(folder, members, filter="data")
    (folder / "ready").touch()


if __name__ == "__main__":
    main()
