import Foundation
import Tally
import TallyCRDT

/// A device of the story: a store in a file of its own, and a clock.
struct Device {
  let name: String
  let path: String
  let store: Store
  private let isLeft: Bool
  private let clock: StoryClock
  private let terminal: Terminal

  init(name: String, folder: URL, isLeft: Bool, terminal: Terminal) throws {
    let clock = StoryClock()
    var options = StoreOptions()
    options.now = { clock.now }
    self.name = name
    self.isLeft = isLeft
    self.terminal = terminal
    self.clock = clock
    path = folder.appendingPathComponent("\(name).tally").path
    store = try Store(path: path, schema: scorebookSchema, options: options)
    try FirstVersion.movePictures(in: store)
  }

  /// Says what somebody does on this device, and does it in one transaction.
  func does(_ time: String, day: Int = 8, _ what: String, _ write: (Database) throws -> Void) throws {
    clock.set(StoryClock.date(day: day, time))
    terminal.step(name, isLeft: isLeft, time, what)
    try store.write(write)
  }

  /// Says that a deleted record is brought back, and does it.
  func restores<Record>(_ record: RecordName<Record>, _ time: String, _ what: String) throws {
    clock.set(StoryClock.date(day: 8, time))
    terminal.step(name, isLeft: isLeft, time, what)
    try store.restore(record)
  }
}

/// The two devices of the story.
struct Devices {
  let phone: Device
  let tablet: Device
  var both: [Device] { [phone, tablet] }

  /// The device that a replica id belongs to. Ids are random; the story shows names.
  func name(of replica: ReplicaID) throws -> String {
    try both.first { try $0.store.summary().replica == replica }?.name ?? "somebody"
  }

  /// A state vector in short: how many transactions of each device are in a store.
  func short(_ vector: StateVector) throws -> String {
    try both.map { device in
      let replica = try device.store.summary().replica
      let sequence = vector.entries.first { $0.replica == replica }?.sequence ?? 0
      return "\(device.name) \(sequence)"
    }.joined(separator: ", ")
  }
}
