"""Drivers: who runs which task of a plan, where one machine is not enough.

A driver carries no sample bytes. It starts `headrace run-task PLAN K` on other machines, and ends
with `headrace run PLAN` here, which finds all tasks done and commits. What was done is known from
the records at the destination alone, so a driver may be killed at any time and started again.

    headrace run s3://bucket/plans/shuffle --engine ray          # or: python -m headrace.drivers
"""
