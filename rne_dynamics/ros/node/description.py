"""The robot description as text, for the topic and the parameter of that name."""

from __future__ import annotations

from collections.abc import Mapping

from rne_dynamics.description.model_file import urdf_source
from rne_dynamics.description.sources import Source, SourceLike, names_model_file, read_source
from rne_dynamics.errors import DescriptionError


def description_source(source: SourceLike, mappings: Mapping[str, str] | None = None) -> Source:
    """The URDF of a description, as `description_text` has its text; parameters and errors likewise."""
    return urdf_source(source) if names_model_file(source) else read_source(source, mappings)


def description_text(source: SourceLike, mappings: Mapping[str, str] | None = None) -> str:
    """URDF text of a path, a URI, a shipped robot's name, or of text itself; xacro is expanded.

    Of a model file it is the URDF that it names, without the loops.

    `source`: as `load_model` takes it; `mappings`: arguments for a xacro file by name. Raises DescriptionError: nothing
    there, bytes that are not in the encoding they claim, or `mappings` for what is not xacro.
    """
    read = description_source(source, mappings)
    try:
        return read.data.decode(read.encoding or "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DescriptionError(
            f"{read.name} is not UTF-8 (byte {error.start}); a topic carries text only, so save it as UTF-8"
        ) from None
