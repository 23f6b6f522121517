"""The formats of fibers: names, patch lists, labels, records, and what optical switches are told."""

from topoopt.plugins.exports.calient import calient
from topoopt.plugins.exports.format import ExportFormat
from topoopt.plugins.exports.inventory_file import inventory_file
from topoopt.plugins.exports.labels import labels
from topoopt.plugins.exports.netbox import netbox
from topoopt.plugins.exports.patch_list import patch_list
from topoopt.plugins.exports.polatis import polatis
from topoopt.plugins.exports.sonic_ocs import sonic_ocs

CABLING_FORMATS = (
    ExportFormat(
        "inventory",
        "which server, interface, panel, port and cable is which, to be edited and given back",
        "inventory.yaml",
        "topoopt, and people",
        inventory_file,
    ),
    ExportFormat(
        "patch-list",
        "which panel ports are joined, and in which order to change them",
        "patch-list.csv, work-order.txt, wiring.json",
        "people, scripts and robots at any patch panel",
        patch_list,
    ),
    ExportFormat(
        "labels",
        "labels for both ends of every cable",
        "labels.csv, labels-a4.pdf, labels-letter.pdf",
        "label printers; sheets of 65 and 80 labels",
        labels,
    ),
    ExportFormat(
        "netbox",
        "devices, ports and cables for the records of a data center",
        "01-sites.csv ... 10-cables.csv",
        "NetBox: bulk import",
        netbox,
    ),
    ExportFormat(
        "sonic-ocs",
        "cross-connects of optical switches that run SONiC",
        "PANEL.config_db.json, PANEL-stepN.patch.json",
        "SONiC: config reload, config apply-patch",
        sonic_ocs,
    ),
    ExportFormat(
        "polatis",
        "cross-connects of Polatis optical switches",
        "PANEL.restconf.json, PANEL.scpi, PANEL.tl1",
        "Polatis: RESTCONF, SCPI or TL1",
        polatis,
    ),
    ExportFormat(
        "calient",
        "cross-connects of Calient optical switches",
        "PANEL-stepN-delete.json, PANEL-stepN-add.json",
        "Calient: REST",
        calient,
    ),
)
