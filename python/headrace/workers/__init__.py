"""Processes that run the user's functions, fed through shared memory.

memory    memory that several processes map: files without a name, gone with the last of them
channel   messages between two processes, with descriptors of such memory
process   what a worker does
pool      starting workers, giving them batches, noticing that one has died
stream    batches in order, the workers ahead of the consumer
"""
