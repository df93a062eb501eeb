#if CloudKitStub
  import CloudKit
  import Foundation
  import GRDB
  import Synchronization
  import Tally
  import TallyCloudKit
  import TallyStore
  import TallySync
  import TallyTesting

  /// A history of a person's devices that meet only in iCloud, where passes end with errors. What it is held to: an
  /// error takes nothing from a store, and when all is well again everybody has what anybody wrote and nobody deleted.
  package struct CloudHistory {
    package struct Failure: Error, CustomStringConvertible {
      package let description: String
    }

    private let seed: UInt64
    private var random: SplitMix64
    private let cloud = FakeCloud()
    private var phones: [Phone] = []
    /// What has been written, without what has been deleted, by the record's name.
    private var written: Set<String> = []
    package private(set) var trace: [String] = []
    package private(set) var errors: [CloudKitError.Code: Int] = [:]

    package init(seed: UInt64) throws {
      self.seed = seed
      random = SplitMix64(seed: seed &* 31)
      for _ in 0..<2 + random.below(3) { try addPhone() }
    }

    private mutating func addPhone() throws {
      var options = StoreOptions()
      var draw = SplitMix64(seed: seed &* 1_000 &+ UInt64(phones.count))
      let ids = (0..<64).map { _ in ReplicaID.random(using: &draw) }
      let (made, ticks) = (Counter(), Counter())
      options.mintReplica = { ids[made.next() % ids.count] }
      options.now = { [number = phones.count] in
        Date(timeIntervalSince1970: 1_700_000_000 + Double(number) + Double(ticks.next()))
      }
      options.logger.logLevel = .critical
      let store = try Store(inMemory: Schema(CloudNote.self), options: options)
      phones.append(try Phone(cloud, store: store, seed: seed &+ UInt64(phones.count)))
      if random.chance(50) { phones[phones.count - 1].mailbox.didRegisterForNotifications() }
    }

    private final class Counter: Sendable {
      private let value = Atomic(0)
      func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).newValue }
    }

    package mutating func run(steps: Int) async throws {
      for _ in 0..<steps { try await step() }
      try await settle()
    }

    private mutating func step() async throws {
      let index = random.below(phones.count)
      let phone = phones[index]
      switch random.below(20) {
      case 0..<5: try edit(index)
      case 5..<13: try await pass(index)
      case 13:
        phone.device.faults.failures = random.pick([0, 20, 60])
        phone.device.faults.lostAnswers = random.pick([0, 20, 40])
        phone.device.faults.partial = random.pick([0, 30])
        phone.device.faults.emptyPages = random.pick([0, 40])
        trace.append("\(index): network \(phone.device.faults)")
      case 14: trace.append("\(index): notified \(phone.device.deliver())")
      case 15:
        phone.restart()
        if random.chance(50) { phone.mailbox.didRegisterForNotifications() }
        trace.append("\(index): restart")
      case 16:
        phone.clock.pass(.seconds(random.pick([1, 40, 7_200])))
      case 17: try happen()
      case 18:
        // Another person uses the device for a while, or nobody does.
        let person = random.pick(["ann", "ann", "bob", nil])
        if random.chance(50) {
          phone.device.signIn(person)
        } else {
          phone.device.meanwhile { [weak device = phone.device] in device?.signIn(person) }
        }
        trace.append("\(index): \(person ?? "nobody") is signed in")
      default: if phones.count < 6, random.chance(30) { try addPhone() }
      }
    }

    private mutating func happen() throws {
      switch random.below(9) {
      case 0: cloud.expireTokens()
      case 1: cloud.resetEncryptedData(of: "ann")
      case 2: cloud.loseZones(of: "ann")
      case 3: cloud.setQuota(random.pick([nil, cloud.byteCount(of: "ann") + 300]), of: "ann")
      case 4: cloud.limits.pageItems = random.pick([1, 2, 200])
      case 5:
        cloud.loseAssets(of: "ann", zone: Phone.zone, random.pick([nil, .assetFileNotFound, .assetNotAvailable]))
        trace.append("assets are lost")
      case 6, 7:
        let error = random.pick([
          nil, CKError(.permissionFailure), CKError(.serverRejectedRequest),
          CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 300)]),
        ])
        random.pick(phones).device.refuseSubscriptions(error)
        trace.append("subscriptions end with \(error.map { "\($0.code)" } ?? "no error")")
      default: cloud.deleteData(of: "ann")
      }
    }

    private mutating func edit(_ index: Int) throws {
      let number = random.below(1_000_000)
      let shown = try phones[index].store.read { try String.fetchAll($0, sql: "SELECT id FROM Note ORDER BY id") }
      if random.chance(15), let name = shown.isEmpty ? nil : random.pick(shown) {
        try phones[index].store.write { try $0.execute(sql: "DELETE FROM Note WHERE id = ?", arguments: [name]) }
        written.remove(name)
        trace.append("\(index): deletes \(name)")
        return
      }
      let name = "Note|~|\(index)-\(trace.count)-\(number)"
      // Some are large enough for an asset.
      let picture = random.chance(10) ? CloudWorld.noise(600_000, UInt64(number + 1)) : nil
      try phones[index].store.write { db in
        try db.execute(
          sql: "INSERT INTO Note(id, text, picture) VALUES(?, ?, ?)", arguments: [name, "\(number)", picture])
      }
      written.insert(name)
      trace.append("\(index): writes \(name)")
    }

    /// A pass that may end with an error of iCloud's, and with no other.
    private mutating func pass(_ index: Int) async throws {
      let phone = phones[index]
      let before = try names(phone.store)
      let vector = try phone.store.vector
      do {
        let report = try await phone.pass()
        trace.append("\(index): passes, \(report.taken.count) taken, \(report.written.count) written")
      } catch let error as CloudKitError {
        errors[error.code, default: 0] += 1
        trace.append("\(index): \(error)")
      }
      guard try phone.store.vector.covers(vector) else { throw Failure(description: "phone \(index) has gone back") }
      // Nobody deletes a record that another is still writing: what is gone was deleted by somebody.
      let lost = before.subtracting(try names(phone.store)).intersection(written)
      guard lost.isEmpty else { throw Failure(description: "phone \(index) has lost \(lost.sorted())") }
      guard cloud.zones(of: "bob").isEmpty else {
        throw Failure(description: "phone \(index) has put into bob's iCloud")
      }
    }

    private func names(_ store: Store) throws -> Set<String> {
      Set(try store.read { try String.fetchAll($0, sql: "SELECT id FROM Note") })
    }

    /// All is well: the person is signed in everywhere, has room, and wants the app's data in iCloud.
    private mutating func settle() async throws {
      cloud.setQuota(nil, of: "ann")
      cloud.limits = FakeCloud.Limits()
      for phone in phones {
        phone.device.faults = FakeDevice.Faults()
        phone.device.refuseSubscriptions(nil)
        phone.device.meanwhile {}
        phone.device.signIn("ann")
        phone.clock.pass(.seconds(7_200))
      }
      try await phones[0].mailbox.putAgain()
      // Somebody who comes late asks for what is lost.
      let all = phones + [try Phone(cloud)]
      guard try await CloudWorld.rest(all) else { throw Failure(description: "the phones do not come to rest") }
      for (index, phone) in all.enumerated() {
        let shown = try names(phone.store)
        guard shown == written else {
          throw Failure(
            description:
              "phone \(index) lacks \(written.subtracting(shown).sorted()) and has \(shown.subtracting(written))")
        }
        guard try CloudWorld.dump(phone.store) == CloudWorld.dump(all[0].store) else {
          throw Failure(description: "phones 0 and \(index) differ")
        }
        guard try phone.isSound else { throw Failure(description: "phone \(index) is not sound") }
      }
    }
  }
#endif
