"""sightline view: look at everything a study holds, in a browser."""

from __future__ import annotations

import click

from sightline.cli._errors import guarded
from sightline.cli._serving import EXPOSED, is_exposed, serving
from sightline.cli.adapter import SETTINGS, STUDY


@click.command("view", context_settings=SETTINGS)
@click.argument("study", metavar="STUDY", help=STUDY)
@serving(port=8001, days=1.0)
@click.option("--open", "open_", is_flag=True, help="Open it in a browser.")
@guarded
def view(study: str, days: float, host: str, port: int, public: str, proxy: str, open_: bool) -> None:
    """Look at every prompt, image, vote and score of a study, in a browser.

    Filter and sort by anything that the study holds, compare systems side by side, tag what you find, mark it
    as a failure, send it to a round of judging or export it. Prints a link for the study's owner, and serves
    until Ctrl+C.
    """
    import sys
    import webbrowser

    from sightline import judging
    from sightline.estimate import clean
    from sightline.study.study import open_study
    from sightline.web.app import create_explorer
    from sightline.web.guarding import rules_for
    from sightline.web.serving import serve

    # While fields are read in the background, a page gives way at each of its queries: 5 ms each is long.
    sys.setswitchinterval(0.001)
    rules = rules_for(host, [public] if public else [])
    with open_study(study) as opened:

        def ready(at: str) -> None:
            token, _ = judging.issue_token(opened, "owner", days, keep_others=True)
            link = f"{(public or at).rstrip('/')}/j/{token}"
            click.echo(clean(f"Explore {opened.name}: {link}"))
            if is_exposed(host, public):
                click.echo(EXPOSED)
            click.echo("It is there until Ctrl+C.")
            if open_:
                webbrowser.open(link)

        serve(create_explorer(opened, public=public, rules=rules), host, port, ready, proxies=proxy)
