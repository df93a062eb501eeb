import Foundation
import Tally

/// The story, act by act. Each promise is checked as it is told.
final class Story {
  private let scratch: URL
  private var drive = Drive()
  private(set) var failures = 0

  init(in scratch: URL) { self.scratch = scratch }

  func tell() throws {
    let (laptop, phone) = (try join("laptop"), try join("phone"))
    try begin(laptop, phone)
    try editApart(laptop, phone)
    try arriveLate(laptop, phone)
    let tablet = try joinLate()
    try end([laptop, phone, tablet])
  }

  private func join(_ name: String) throws -> Device {
    let device = try Device(name, in: scratch)
    drive.connect(device)
    return device
  }

  // MARK: Acts

  private func begin(_ laptop: Device, _ phone: Device) throws {
    act("The laptop begins a list; the phone gets it from the folder")
    try laptop.does("writes the list") { db in try Item.add("tent", "stove", "rope", to: db) }
    try laptop.syncs()
    try drive.carry()
    try phone.syncs()
    try phone.shows()
    check("both have the same list", try laptop.dump() == phone.dump())
  }

  private func editApart(_ laptop: Device, _ phone: Device) throws {
    act("Both change the same thing, in different fields, without a network")
    try laptop.does("says that Ann carries the rope") { db in
      try Item.change(db, "rope") { $0.carrier = "Ann" }
    }
    try phone.does("packs the rope") { db in
      try Item.change(db, "rope") { $0.isPacked = true }
    }
    for device in [laptop, phone] { try device.syncs() }
    try drive.carry()
    for device in [laptop, phone] { try device.syncs() }
    try laptop.shows()
    let line = try laptop.store.read { db in try Item.line(db) }
    check("both edits are there", line.contains("☑ rope (Ann)"))
    check("both have the same list", try laptop.dump() == phone.dump())
  }

  private func arriveLate(_ laptop: Device, _ phone: Device) throws {
    act("One file arrives late")
    try laptop.does("adds a map") { db in try Item.add("map", to: db) }
    let late = try laptop.syncs().written.first
    try laptop.does("adds a lamp") { db in try Item.add("lamp", to: db) }
    try laptop.syncs()
    try drive.carry(except: late)
    try phone.does("packs the tent") { db in
      try Item.change(db, "tent") { $0.isPacked = true }
    }
    let early = try phone.syncs()
    check("what builds on the missing file waits", early.pending.map(\.reason) == [.waitsForOthers])
    check("the phone's own change goes out all the same", early.written.count == 1)
    try drive.carry()
    check("now everything is there", try phone.syncs().isComplete)
    try laptop.syncs()
    try phone.shows()
    check("both have the same list", try laptop.dump() == phone.dump())
  }

  private func joinLate() throws -> Device {
    act("A tablet joins; the others are switched off")
    let tablet = try join("tablet")
    try drive.carry()
    try tablet.syncs()
    try tablet.does("packs the lamp") { db in
      try Item.change(db, "lamp") { $0.isPacked = true }
    }
    try tablet.syncs()
    return tablet
  }

  private func end(_ devices: [Device]) throws {
    act("All come by once more")
    try drive.carry()
    for device in devices { try device.syncs() }
    for device in devices { try device.shows() }
    let dumps = try devices.map { try $0.dump() }
    check("all three hold the same state, byte for byte", Set(dumps).count == 1)
    check("all three are sound", try devices.allSatisfy { try $0.store.verify().problems.isEmpty })
  }

  // MARK: Telling

  private func act(_ title: String) { print("\n── \(title)\n") }

  private func check(_ promise: String, _ isKept: Bool) {
    if !isKept { failures += 1 }
    print("  \(isKept ? "✓" : "✗") \(promise)")
  }
}
