#if CloudKitStub
  import CloudKit
  import TallyCloudKit
  import TallySync

  /// Two people and a phone on which either may be signed in at any moment, also while an answer is on its way: what is
  /// one person's gets to no other.
  package enum CloudPeople {
    /// What a seed finds; nil if nobody's data got to another.
    package static func failure(_ seed: UInt64) async throws -> String? {
      var dice = Dice(seed)
      let cloud = FakeCloud()
      if dice.next(2) == 0 { cloud.limits.pageItems = 3 }
      let (phone, ann, bob) = (
        try Phone(cloud, "ann", seed: seed), try Phone(cloud, "ann"), try Phone(cloud, "bob")
      )
      @Sendable func arm(_ device: FakeDevice, _ count: Int, _ person: String?) {
        device.meanwhile { if count == 0 { device.signIn(person) } else { arm(device, count - 1, person) } }
      }
      var number = 0
      for _ in 0..<14 {
        switch dice.next(9) {
        case 0: try ann.write("ann \(number)")
        case 1: try bob.write("bob \(number)")
        case 2, 3: try phone.write("ann here \(number)")
        case 4: cloud.loseZones(of: dice.next(2) == 0 ? "ann" : "bob")
        case 5: cloud.expireTokens()
        case 6: phone.restart()
        case 7: phone.device.faults.failures = dice.next(2) * 20
        default: phone.device.signIn(["ann", "bob", nil][dice.next(3)])
        }
        number += 1
        for one in [ann, bob] where dice.next(2) == 0 {
          one.mailbox.lookAgain()
          _ = try await one.failure()
        }
        if dice.next(3) > 0 { phone.device.signIn("ann") }
        if dice.next(2) == 0 { phone.mailbox.lookAgain() }
        arm(phone.device, dice.next(4), ["ann", "bob", "bob", nil][dice.next(4)])
        _ = try await phone.failure()
        phone.device.meanwhile {}
      }
      phone.device.faults.failures = 0
      phone.device.signIn("ann")
      phone.clock.pass(.seconds(4_000))
      for (phones, person) in [([phone, ann], "ann"), ([bob], "bob")] {
        guard try await CloudWorld.rest(phones) else { return "\(person)'s phones do not come to rest" }
        let first = try CloudWorld.dump(phones[0].store)
        for phone in phones {
          guard try CloudWorld.dump(phone.store) == first, try phone.isSound else { return "\(person)'s phones differ" }
          let others = try phone.texts.filter { !$0.hasPrefix(person) }
          guard others.isEmpty else { return "\(person) has \(others)" }
        }
      }
      return nil
    }
  }

  /// Numbers from a seed.
  package struct Dice {
    private var word: UInt64

    package init(_ seed: UInt64) { word = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    package mutating func next(_ count: Int) -> Int {
      word ^= word << 13
      word ^= word >> 7
      word ^= word << 17
      return Int(word % UInt64(count))
    }
  }
#endif
