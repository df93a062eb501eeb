@_exported import TallyCRDT
@_exported import TallyStore
@_exported import TallySync
@_exported import TallyWire
