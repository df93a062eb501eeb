// What an app uses. Everything else of the modules beneath is there with `import TallyStore`, `TallySync`, `TallyWire`
// or `TallyCRDT`: Docs/Architecture.md says what is where.
@_exported import GRDB

@_exported import struct TallyCRDT.AnyRecordName
@_exported import struct TallyCRDT.ReplicaID
@_exported import struct TallyStore.Conflict
@_exported import struct TallyStore.DeletedRecord
@_exported import protocol TallyStore.Entity
@_exported import struct TallyStore.EntitySchema
@_exported import class TallyStore.Observed
@_exported import struct TallyStore.RecordName
@_exported import struct TallyStore.Relationship
@_exported import struct TallyStore.Schema
@_exported import struct TallyStore.SeedAdoption
@_exported import struct TallyStore.SeedKey
@_exported import struct TallyStore.SeedRecord
@_exported import struct TallyStore.SeedSet
@_exported import struct TallyStore.SeededRecord
@_exported import class TallyStore.Store
@_exported import struct TallyStore.StoreError
@_exported import struct TallyStore.StoreOptions
@_exported import struct TallyStore.StoreStatus
@_exported import protocol TallyStore.TallyError
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
