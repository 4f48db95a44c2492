"""ParamAttr: how a layer's parameter is named, initialized and learnt."""

from __future__ import annotations

from typing import TypeAlias

from fluidcore.base.checks import check_name, check_number, is_whole
from fluidcore.base.settings import Settings
from fluidcore.clip import BaseGradientClipAttr
from fluidcore.initializer import Initializer
from fluidcore.regularizer import WeightDecayRegularizer, check_regularizer


class ParamAttr(Settings):
    """How a layer's parameter is named, initialized and learnt.

    Args:
        name: Name of the parameter; layers that give the same name share it. None makes one up.
        initializer: Its first value; None takes the layer's default.
        learning_rate: Factor on the optimizer's learning rate.
        regularizer: Its weight decay; wins over the optimizer's.
        trainable: False freezes it.
        gradient_clip: Clips its gradient.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: WeightDecayRegularizer | None = None,
        trainable: bool = True,
        gradient_clip: BaseGradientClipAttr | None = None,
    ) -> None:
        if name is not None:
            check_name("ParamAttr: name", name)
        if not (initializer is None or isinstance(initializer, Initializer)):
            raise TypeError(f"ParamAttr: initializer must be an Initializer, got {initializer!r}")
        check_regularizer("ParamAttr: regularizer", regularizer)
        if not (gradient_clip is None or isinstance(gradient_clip, BaseGradientClipAttr)):
            raise TypeError(
                f"ParamAttr: gradient_clip must be a BaseGradientClipAttr, got {gradient_clip!r}"
            )
        self.name = name
        self.initializer = initializer
        self.learning_rate = check_number("ParamAttr: learning_rate", learning_rate)
        self.regularizer = regularizer
        self.trainable = trainable
        self.gradient_clip = gradient_clip

    @staticmethod
    def of(value: ParamAttrLike) -> ParamAttr | None:
        """What a layer's `param_attr` means.

        Args:
            value: A ParamAttr, a name, an initializer, None or True for the defaults, False for
                no parameter.

        Returns:
            None for False.
        """
        if isinstance(value, ParamAttr):
            return value
        if value is None or value is True:
            return ParamAttr()
        if value is False:
            return None
        if isinstance(value, str):
            return ParamAttr(name=value)
        if isinstance(value, Initializer):
            return ParamAttr(initializer=value)
        raise TypeError(
            "param_attr and bias_attr must be a ParamAttr, a name, an initializer, None or False, "
            f"got {type(value).__name__}"
        )


class WeightNormParamAttr(ParamAttr):
    """A weight made of a direction and a length: w = g v / |v| (Salimans and Kingma 2016).

    The layer learns v, `NAME_v`, and g, `NAME_g`, in the place of the weight. g starts as |v|, so
    that the weight starts as its initializer says; one of zeros has no direction, and is NaN.

    Args:
        dim: The dimension along which each index has a length of its own: g has the extent of v
            there, and 1 elsewhere. None for one length of the whole weight, g [1].
        name: As of ParamAttr, and so are the others, for g and for v.
        initializer: The first value of the weight.
        learning_rate: Factor on the optimizer's learning rate.
        regularizer: Weight decay.
        trainable: False freezes both.
        gradient_clip: Clips both gradients.

    Raises:
        TypeError: An argument is of another type.
    """

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: WeightDecayRegularizer | None = None,
        trainable: bool = True,
        gradient_clip: BaseGradientClipAttr | None = None,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable, gradient_clip)
        if not (dim is None or is_whole(dim)):
            raise TypeError(f"WeightNormParamAttr: dim must be a whole number or None, got {dim!r}")
        self.dim = dim

    def part(self, name: str, initializer: Initializer | None) -> ParamAttr:
        """What is said of g or of v."""
        return ParamAttr(
            name,
            initializer,
            self.learning_rate,
            self.regularizer,
            self.trainable,
            self.gradient_clip,
        )


ParamAttrLike: TypeAlias = ParamAttr | Initializer | str | bool | None
