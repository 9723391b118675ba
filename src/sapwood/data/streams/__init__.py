"""Streams: tables that are read in batches of rows, from files, queries and iterables."""

from sapwood.data.streams.base import Stream
from sapwood.data.streams.files import FileStream, scan
from sapwood.data.streams.opening import is_read_once, is_stream, open_stream

__all__ = ["FileStream", "Stream", "is_read_once", "is_stream", "open_stream", "scan"]
