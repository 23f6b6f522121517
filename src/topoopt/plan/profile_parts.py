"""The user's own operator times in a plan file, of both kinds."""

from dataclasses import asdict
from typing import Any

from topoopt.job import Profile
from topoopt.plan import model
from topoopt.workload import (
    DeviceProfile,
    Measurement,
    ProfileTable,
    device_profile_of,
    device_profile_to_mapping,
)


def profiles_to_mapping(profiles: tuple[Profile, ...]) -> dict[str, Any]:
    """Return the keys of a plan file that hold a job's profiles."""
    return {
        "profiles": [_table_part(table) for table in profiles if isinstance(table, ProfileTable)],
        "device_profiles": [
            device_profile_to_mapping(profile) for profile in profiles if isinstance(profile, DeviceProfile)
        ],
    }


def profiles_of(file: model.PlanFile) -> tuple[Profile, ...]:
    """Return the profiles of a plan file."""
    return (*map(_table, file.profiles), *map(device_profile_of, file.device_profiles))


def _table_part(table: ProfileTable) -> dict[str, Any]:
    measurements = {name: [asdict(row) for row in rows] for name, rows in table.measurements.items()}
    return {
        "model": table.model,
        "servers": table.servers,
        "global_batch": table.global_batch,
        "measurements": measurements,
    }


def _table(part: model.ProfilePart) -> ProfileTable:
    measurements = {
        name: tuple(Measurement(**row.model_dump()) for row in rows)
        for name, rows in part.measurements.items()
    }
    return ProfileTable(part.model, part.servers, part.global_batch, measurements)
