"""What the commands say of where results are."""

from __future__ import annotations

from pathlib import Path

import typer


def tell_shard(shard: str, out: str) -> None:
    """What comes after one shard."""
    typer.echo(f"Shard {shard} is done: {out}. When all are: headatlas merge DIR... --out DIR")


def send_results(folder: Path, out: str) -> None:
    """Send figures and pages after their tables, where --out is a URL."""
    from headatlas.remote import is_url, send

    if is_url(out):
        send(folder, out)
        typer.echo(f"Sent to: {out}")
