"""axe-core on a page, in light and in dark: what it finds, in words."""

from __future__ import annotations

from typing import Any

SCHEMES = ("light", "dark")


def findings(page: Any) -> list[str]:
    """Every rule of axe-core that the page breaks as it stands, with the first places; none is the aim.

    The package of Playwright's axe carries axe-core (MPL-2.0), which is run inside the page and not kept.
    """
    from axe_playwright_python.sync_playwright import Axe

    axe, found = Axe(), []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for rule in axe.run(page).response["violations"]:
            places = [f"{' '.join(map(str, node['target']))}: {_why(node)}" for node in rule["nodes"][:3]]
            found.append(
                f"{scheme}, {rule['impact']}, {rule['id']} ({len(rule['nodes'])}): {'; '.join(places)}"
            )
    return found


def _why(node: Any) -> str:
    reasons = [check["message"] for kind in ("any", "all", "none") for check in node[kind]]
    return reasons[0] if reasons else node["html"][:80]
