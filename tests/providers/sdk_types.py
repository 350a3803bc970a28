"""Examples of every type that an SDK can return, made from the type itself."""

import types
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

VALUES = {str: "x", int: 1, float: 1.0, bool: True}


def kinds_in(kind):
    """The types that a union is made of."""
    if get_origin(kind) is Annotated:
        return kinds_in(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return [inner for one in get_args(kind) for inner in kinds_in(one)]
    return [kind]


def least_of(kind):
    """A value of a type that has no more than it must."""
    match get_origin(kind):
        case origin if origin is Annotated:
            return least_of(get_args(kind)[0])
        case origin if origin in (Union, types.UnionType):
            return least_of(next(one for one in get_args(kind) if one is not type(None)))
        case origin if origin is Literal:
            return get_args(kind)[0]
        case origin if origin is list:
            return [least_of(get_args(kind)[0])]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        return {field.alias or name: least_of(field.annotation) for name, field in fields if field.is_required()}
    return VALUES.get(kind, {})
