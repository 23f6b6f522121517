"""The networks that jobs are compared and simulated on: one file per fabric, each declaring ``NETWORK``.

See :mod:`topoopt.catalog.networks` for the record, and ``docs/extend/fabric.md`` for adding one.
"""
