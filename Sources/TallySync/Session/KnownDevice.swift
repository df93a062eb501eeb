import Foundation
import TallyCRDT
import TallyStore
import TallyWire

/// Another replica that this store has met, for a list of devices: the time of its last contact, and what it is known
/// to have.
///
/// ```swift
/// for device in try store.devices() {
///   print(device.name ?? "a device", device.pending == 0 ? "has everything" : "is \(device.pending) changes behind")
/// }
/// ```
///
/// ``Store/devices()`` returns them if this device introduces itself (``SyncDevice``). The list belongs to this device
/// alone. A device may have more than it is known to have, for instance through another device. ``PeerStatus``
/// describes the peers to which the engine is currently connected.
public struct KnownDevice: Sendable, Equatable, Identifiable {
  /// The replica. A device that gets a new replica id, as a restored backup does, is listed as another device.
  public var id: ReplicaID
  /// The introduction of the device; nil if it has not introduced itself, for instance because it was met through a
  /// mailbox.
  public var device: SyncDevice?
  /// The time at which a session last heard from the device, or a pass last found something new from it in a mailbox.
  public var lastSeen: Date
  /// The vector that the device is known to have. It may have more by now.
  public var acknowledged: StateVector
  /// The number of transactions of this store that the device is not known to have.
  public var pending: UInt64

  /// Creates a device that was never met, for previews and tests; `Store.devices()` returns the real ones.
  /// - Parameters:
  ///   - id: the replica's id.
  ///   - device: its introduction; nil for a device that has not introduced itself.
  ///   - lastSeen: the time of its last contact.
  ///   - acknowledged: the vector that it is known to have.
  ///   - pending: the number of transactions of this store that it lacks.
  public init(id: ReplicaID, device: SyncDevice?, lastSeen: Date, acknowledged: StateVector, pending: UInt64) {
    (self.id, self.device, self.lastSeen) = (id, device, lastSeen)
    (self.acknowledged, self.pending) = (acknowledged, pending)
  }

  /// The name that people gave the device; nil if unknown.
  public var name: String? { device.flatMap { $0.name.isEmpty ? nil : $0.name } }
}

extension Store {
  /// The scope of what is noted of devices.
  private static let deviceScope = "devices"
  /// The most devices that are remembered; with one more, the one goes that was not heard of for longest.
  static let deviceLimit = 64

  /// Returns the devices that this store has met, the most recent one first.
  ///
  /// A store remembers the devices that it meets if it introduces itself (`SyncSettings.device`,
  /// `SyncEngine.Settings.device`): each peer of a session with the vector that it has acknowledged, and each writer of
  /// a mailbox with the vector that its files lead to. The list belongs to this device alone and does not replicate.
  ///
  /// Cost: reads at most 64 small rows.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func devices() throws -> [KnownDevice] {
    let vector = try vector
    let live = livePeers.withLock { $0 }
    return try rememberedDevices().map { device in
      var device = device
      if let (acknowledged, date) = live[device.id] {
        device.acknowledged.merge(acknowledged)
        device.lastSeen = max(device.lastSeen, date)
      }
      device.pending = vector.distance(beyond: device.acknowledged)
      return device
    }
  }

  /// Returns the devices that this store has met, the most recent one first, without blocking the task's thread.
  ///
  /// See the synchronous `devices()` for the devices that are remembered.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`; `CancellationError` if the task was cancelled before the
  ///   call.
  public func devices() async throws -> [KnownDevice] { try await BlockingWork.run { [self] in try devices() } }

  /// Removes a device from the list, for instance one that was sold. It comes back when the store meets it again.
  ///
  /// ```swift
  /// for device in try store.devices() where device.name == "old phone" { try store.forget(device: device.id) }
  /// ```
  ///
  /// Its changes stay, and it may still sync: the transport or the mailbox controls access. Removing a device that is
  /// not listed is not an error.
  /// - Throws: `StoreError.closed`; GRDB's `DatabaseError`.
  public func forget(device id: ReplicaID) throws {
    livePeers.withLock { $0[id] = nil }
    try note(NoteBatch(Self.deviceScope, ["\(id)": nil]))
  }

  /// Remembers what is new of devices; of each the vectors are merged.
  package func remember(_ news: [KnownDevice]) throws {
    let own = try summary().replica
    var known = Dictionary(uniqueKeysWithValues: try rememberedDevices().map { ($0.id, $0) })
    var batch = NoteBatch(Self.deviceScope, [:])
    for var device in news where device.id != own {
      if let before = known[device.id] {
        device.acknowledged.merge(before.acknowledged)
        device.device = device.device ?? before.device
        device.lastSeen = max(device.lastSeen, before.lastSeen)
        guard device != before else { continue }
      }
      known[device.id] = device
      batch.values["\(device.id)"] = device.encoded
    }
    for device in known.values.sorted(by: KnownDevice.isNewer).dropFirst(Self.deviceLimit) {
      batch.values["\(device.id)"] = .some(nil)
    }
    if !batch.values.isEmpty { noteIfPossible(batch) }
  }

  /// Remembers who has put files into a mailbox, and what they held; not those of whom nothing is new.
  package func remember(writers: [ReplicaID: StateVector]) throws {
    let known = Dictionary(uniqueKeysWithValues: try rememberedDevices().map { ($0.id, $0.acknowledged) })
    let news = writers.filter { replica, vector in !(known[replica]?.covers(vector) ?? false) }
    let now = now
    try remember(news.map { KnownDevice($0.key, nil, lastSeen: now, acknowledged: $0.value) })
  }

  private func rememberedDevices() throws -> [KnownDevice] {
    try notes(Self.deviceScope).values.compactMap { key, bytes in
      ReplicaID(key).flatMap { KnownDevice($0, bytes) }
    }.sorted(by: KnownDevice.isNewer)
  }
}

extension KnownDevice {
  private static let version: UInt8 = 1

  fileprivate static func isNewer(_ one: KnownDevice, _ other: KnownDevice) -> Bool {
    (other.lastSeen, one.id) < (one.lastSeen, other.id)
  }

  /// The time is kept in milliseconds, as everywhere.
  package init(_ id: ReplicaID, _ device: SyncDevice?, lastSeen: Date, acknowledged: StateVector) {
    let milliseconds = (lastSeen.timeIntervalSince1970 * 1000).rounded()
    self.init(
      id: id, device: device, lastSeen: Date(timeIntervalSince1970: milliseconds / 1000), acknowledged: acknowledged,
      pending: 0)
  }

  fileprivate var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.version)
    writer.varint(UInt64(max(0, lastSeen.timeIntervalSince1970 * 1000).rounded()))
    writer.byte(device == nil ? 0 : 1)
    if let device {
      writer.text(device.name)
      writer.text(device.app)
    }
    writer.bytes += SyncMessage.vector(acknowledged).encoded()
    return writer.bytes
  }

  /// Reads what was noted; nil if it cannot be read, which costs nothing: the device is met again.
  fileprivate init?(_ id: ReplicaID, _ bytes: [UInt8]) {
    let parts: (UInt64, SyncDevice?, [UInt8])? = bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      do {
        guard try reader.byte() == Self.version else { return nil }
        let time = try reader.varint()
        var device: SyncDevice?
        if try reader.byte() == 1 {
          let limit = SyncDevice.byteLimit
          device = SyncDevice(
            name: try reader.text(limit: limit, "a name"), app: try reader.text(limit: limit, "an app"))
        }
        return (time, device, Array(try reader.take(reader.remaining)))
      } catch {
        return nil
      }
    }
    guard let (time, device, rest) = parts, case .vector(let vector)? = try? SyncMessage(rest) else { return nil }
    self.init(
      id: id, device: device, lastSeen: Date(timeIntervalSince1970: Double(time) / 1000), acknowledged: vector,
      pending: 0)
  }
}
