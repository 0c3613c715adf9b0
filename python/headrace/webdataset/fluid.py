"""The stages as methods: `ds.shuffle(1000).decode("rgb8")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import filters, utils
from .filters import default_collation_fn
from .handlers import Handler, reraise_exception

_F = TypeVar("_F", bound="FluidInterface")


class FluidInterface:
    """A mixin: each method gives a copy of the data set with one more stage."""

    def compose(self: _F, *args: Any) -> _F:
        raise NotImplementedError

    def wants_strict(self) -> bool:
        """Whether it shall behave as the original does."""
        return utils.strict_compat()

    def batched(
        self: _F,
        batchsize: int,
        collation_fn: Callable[[list[Any]], Any] | None = default_collation_fn,
        partial: bool = True,
    ) -> _F:
        """Batches of columns; `collation_fn=None`: lists of samples."""
        return self.compose(filters.batched(batchsize, collation_fn=collation_fn, partial=partial))

    def unbatched(self: _F) -> _F:
        """The samples of batches."""
        return self.compose(filters.unbatched())

    def listed(self: _F, batchsize: int, partial: bool = True) -> _F:
        """Lists of samples."""
        keep_rest = partial or self.wants_strict()
        return self.compose(
            filters.batched(batchsize=batchsize, collation_fn=None, partial=keep_rest)
        )

    def unlisted(self: _F) -> _F:
        """The samples of lists."""
        return self.compose(filters.unlisted())

    def log_keys(self: _F, logfile: str | None = None) -> _F:
        """Appends each sample's key to a file."""
        return self.compose(filters.log_keys(logfile))

    def shuffle(self: _F, size: int, **kw: Any) -> _F:
        """A shuffle buffer; the same data set for a size below 1."""
        if size < 1:
            return self
        return self.compose(filters.shuffle(size, **kw))

    def map(self: _F, f: Callable[[Any], Any], handler: Handler = reraise_exception) -> _F:
        """f of each sample."""
        return self.compose(filters.map(f, handler=handler))

    def decode(
        self: _F,
        *args: Any,
        pre: Any = None,
        post: Any = None,
        only: Any = None,
        partial: bool = False,
        handler: Handler = reraise_exception,
    ) -> _F:
        """Decodes the fields: see autodecode.Decoder."""
        from .autodecode import Decoder

        decoder = Decoder(list(args), pre=pre, post=post, only=only, partial=partial)
        return self.map(decoder, handler=handler)

    def map_dict(self: _F, handler: Handler = reraise_exception, **kw: Any) -> _F:
        """A function for each of these keys."""
        return self.compose(filters.map_dict(handler=handler, **kw))

    def select(self: _F, predicate: Callable[[Any], Any], **kw: Any) -> _F:
        """Those for which the predicate is true."""
        return self.compose(filters.select(predicate, **kw))

    def to_tuple(self: _F, *args: Any, **kw: Any) -> _F:
        """The values of these keys."""
        return self.compose(filters.to_tuple(*args, **kw))

    def map_tuple(self: _F, *args: Any, handler: Handler = reraise_exception) -> _F:
        """A function for each place of a tuple."""
        return self.compose(filters.map_tuple(*args, handler=handler))

    def slice(self: _F, *args: Any) -> _F:
        """As itertools.islice."""
        return self.compose(filters.slice(*args))

    def rename(self: _F, **kw: Any) -> _F:
        """New names for keys."""
        return self.compose(filters.rename(**kw))

    def rsample(self: _F, p: float = 0.5) -> _F:
        """Each sample with probability p."""
        return self.compose(filters.rsample(p))

    def rename_keys(self: _F, *args: Any, **kw: Any) -> _F:
        """New names for keys by pattern."""
        return self.compose(filters.rename_keys(*args, **kw))

    def extract_keys(self: _F, *args: Any, **kw: Any) -> _F:
        """The values of the keys that match patterns."""
        return self.compose(filters.extract_keys(*args, **kw))

    def xdecode(self: _F, *args: Any, **kw: Any) -> _F:
        """Decodes fields from streams, by pattern."""
        return self.compose(filters.xdecode(*args, **kw))

    def mcached(self: _F) -> _F:
        """Keeps the first pass in memory for the later ones."""
        return self.compose(filters.Cached())

    def lmdb_cached(self: _F, *args: Any, **kw: Any) -> _F:
        """The same in an LMDB folder."""
        return self.compose(filters.LMDBCached(*args, **kw))
