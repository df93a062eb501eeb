import Foundation
import GRDB
import Tally
import TallyTesting
import TestEffort
import Testing

/// A disk without room, and then with room again, under one open store.
@Suite struct FullDiskTests {
  @Test(.enabled(if: SmallDisk.isPossible, "needs root and tmpfs"))
  func aFullDiskStopsAStoreAndRoomLetsItGoOn() throws {
    let disk = try SmallDisk(kibibytes: 3000)
    let store = try Store(path: disk.path + "/store", schema: notebook, options: .quiet)
    try expectGoesOn(store) { isFull in
      let filler = disk.path + "/filler"
      guard isFull else { return #expect(unlink(filler) == 0) }
      let descriptor = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      defer { close(descriptor) }
      for size in [65_536, 4096, 1] {
        let bytes = [UInt8](repeating: 1, count: size)
        while write(descriptor, bytes, size) == size {}
      }
    }
  }

  @Test func theSameOnASimulatedDisk() throws {
    let disk = SimulatedDisk()
    let store = try disk.store(schema: notebook, options: .quiet)
    try expectGoesOn(store) { isFull in disk.capacity = isFull ? disk.image.byteCount : nil }
  }

  /// The room ends somewhere within a write, wherever that is.
  @Test func theRoomMayEndAnywhere() throws {
    let start = try StartingPoint.usual.get()
    for room in stride(from: 0, through: 60_000, by: Effort.factor > 1 ? 211 : 3_001) {
      let disk = SimulatedDisk(start.disk)
      let store = try disk.store(schema: notebook, options: .quiet)
      disk.capacity = disk.image.byteCount + room
      let isDone = (try? store.add("big", bytes: 30_000)) != nil
      #expect(try store.texts().contains("big") == isDone, "\(room) bytes of room")
      disk.capacity = nil
      try store.add("later")
      #expect(try store.texts() == (isDone ? ["big"] : []) + ["kept", "later", "theirs"], "\(room) bytes of room")
      try store.expectSound("\(room) bytes of room")
    }
  }

  private func expectGoesOn(_ store: Store, fill: (Bool) throws -> Void) throws {
    var kept: [String] = []
    for round in 1...3 {
      try store.add("before \(round)")
      kept.append("before \(round)")
      try fill(true)
      var refused: DatabaseError?
      for number in 1...1000 where refused == nil {
        do {
          try store.add("full \(round)-\(number)", bytes: 3000)
          kept.append("full \(round)-\(number)")
        } catch let error as DatabaseError {
          refused = error
        }
      }
      #expect(refused?.resultCode == .SQLITE_FULL, "\(String(describing: refused))")
      #expect(try store.texts() == kept.sorted())
      try fill(false)
      try store.add("after \(round)", bytes: 3000)
      kept.append("after \(round)")
      #expect(try store.texts() == kept.sorted())
      try store.expectSound("round \(round)")
    }
    let peer = try Store(inMemory: notebook)
    #expect(try store.sync(with: peer).isConverged)
    #expect(try peer.texts() == kept.sorted())
  }
}
