// What an app uses. Everything else of the modules beneath is there with `import TallyStore`, `TallySync`, `TallyWire`
// or `TallyCRDT`: Docs/Architecture.md says what is where.
@_exported import GRDB

@_exported import struct TallyCRDT.AnyRecordName
@_exported import enum TallyCRDT.Extremum
@_exported import struct TallyCRDT.ListPosition
@_exported import struct TallyCRDT.ReplicaID
@_exported import struct TallySchema.Conflict
@_exported import protocol TallySchema.Entity
@_exported import struct TallySchema.EntitySchema
@_exported import enum TallySchema.ListPlace
@_exported import struct TallySchema.RecordName
@_exported import struct TallySchema.Schema
@_exported import struct TallySchema.SeedAdoption
@_exported import struct TallySchema.SeedKey
@_exported import struct TallySchema.SeedRecord
@_exported import struct TallySchema.SeedSet
@_exported import struct TallySchema.StoreError
@_exported import protocol TallySchema.TallyError
@_exported import enum TallySchema.UniquePolicy
@_exported import struct TallySchema.UniqueRule
@_exported import struct TallyStore.ContestedValue
@_exported import struct TallyStore.Counter
@_exported import struct TallyStore.DeletedRecord
@_exported import struct TallyStore.KeptField
@_exported import class TallyStore.Observed
@_exported import struct TallyStore.OrderedChildren
@_exported import struct TallyStore.Relationship
@_exported import struct TallyStore.SeededRecord
@_exported import class TallyStore.Store
@_exported import struct TallyStore.StoreOptions
@_exported import struct TallyStore.StoreStatus
@_exported import enum TallySync.Account
@_exported import class TallySync.Container
@_exported import struct TallySync.FolderMailbox
@_exported import struct TallySync.KnownDevice
@_exported import enum TallySync.LocalData
@_exported import protocol TallySync.Mailbox
@_exported import struct TallySync.PeerStatus
@_exported import struct TallySync.SyncDevice
@_exported import class TallySync.SyncEngine
@_exported import struct TallySync.SyncError
@_exported import class TallySync.SyncMonitor
@_exported import struct TallySync.SyncStatus
@_exported import protocol TallySync.Transport
