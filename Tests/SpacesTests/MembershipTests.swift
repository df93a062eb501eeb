#if Spaces
  import Testing

  @testable import TallySpaces

  /// The rules of membership, each with what would happen without it.
  @Suite struct MembershipTests {
    /// Records that are said in order, each after all before it or after those that are named.
    private struct Story {
      var records: [SpaceRecord] = []
      static let keys = SpaceRecord.PublicKeys(
        signing: ModelSet.digest(0, 0), sealing: ModelSet.digest(0, 0))

      /// Devices have joined by the words, one after the other.
      init(_ devices: String...) {
        say("R", .genesis(.init(recovery: Self.keys, name: "")), after: [])
        for device in devices { join(device) }
      }

      /// Ann has removed a thief, who may pretend to know only the heads from before.
      static func ofTheft(kept: [SpaceDigest] = []) -> (story: Story, before: [SpaceDigest]) {
        var story = Story("ann", "thief")
        let before = story.heads
        story.remove("ann", "thief", kept: kept)
        return (story, before)
      }

      @discardableResult
      mutating func say(
        _ author: String, _ operation: SpaceRecord.Operation, after: [SpaceDigest]? = nil
      ) -> SpaceDigest {
        let id = ModelSet.digest(records.count + 1, 0)
        records.append(
          SpaceRecord(
            id: id, author: ModelSet.member(author), parents: (after ?? heads).sorted(), operation: operation))
        return id
      }

      mutating func invite(_ author: String, after: [SpaceDigest]? = nil) -> SpaceDigest {
        say(author, .invite(.init(keys: Self.keys, use: .oneDevice)), after: after)
      }
      @discardableResult
      mutating func join(_ device: String, by link: SpaceDigest? = nil, after: [SpaceDigest]? = nil) -> SpaceDigest {
        say(device, ModelSet.join(link ?? records[0].id), after: after)
      }
      @discardableResult
      mutating func remove(
        _ author: String, _ devices: String..., kept: [SpaceDigest] = [], after: [SpaceDigest]? = nil
      ) -> SpaceDigest {
        say(author, .remove(.init(devices: devices.map(ModelSet.member), kept: kept)), after: after)
      }
      @discardableResult
      mutating func key(_ author: String, _ number: Int, after: [SpaceDigest]? = nil) -> SpaceDigest {
        let key = ModelSet.digest(1_000 + number, 0)
        say(author, .key(.init(key: key, receivers: [])), after: after)
        return key
      }

      var meaning: Membership { Membership(of: records) }
      var heads: [SpaceDigest] { Array(meaning.heads) }
      var present: [String] {
        meaning.present.map { String(decoding: $0.bytes.prefix { $0 != 0 }, as: UTF8.self) }.sorted()
      }
    }

    @Test func twoThatRemoveEachOtherAreBothOut() {
      var story = Story("ann", "bo", "cy")
      let heads = story.heads
      story.remove("ann", "bo", after: heads)
      story.remove("bo", "ann", after: heads)
      #expect(story.present == ["cy"])
    }

    /// A lost phone had made the link by which the device came that removes it. Its thief uses the link once more, the
    /// close leaves out the honest device, and the removal still counts.
    @Test func aCloseUndoesNoRemoval() {
      var story = Story("phone", "desk")
      let link = story.invite("phone")
      let before = story.heads
      story.join("laptop", by: link, after: before)
      let removal = story.remove("laptop", "phone")
      let thief = story.join("thief", by: link, after: before)
      let close = story.say("desk", .close(invitation: link), after: [thief])
      #expect(story.meaning.removed == [ModelSet.member("phone")])
      #expect(story.meaning.excluded == [ModelSet.member("laptop"), ModelSet.member("thief")])
      #expect(story.meaning.changes.isSuperset(of: [removal, close]))
      #expect(story.present == ["desk"])
    }

    @Test func whoFindsAUsedLinkIsOutAndCannotUndoTheClose() {
      var story = Story("ann")
      let link = story.invite("ann")
      let before = story.heads
      story.join("bo", by: link)
      story.say("ann", .close(invitation: link))
      let found = story.join("finder", by: link, after: before)
      #expect(story.present == ["ann", "bo"])
      // It can still put out who was there in its time, and no more.
      let removal = story.remove("finder", "ann", after: [found])
      #expect(story.present.isEmpty && story.meaning.changes.contains(removal))
      #expect(story.meaning.excluded == [ModelSet.member("finder"), ModelSet.member("bo")])
      // The words are beyond it: whoever comes by them knows that it is out.
      story.join("new")
      story.remove("finder", "ann", "new", after: [found])
      #expect(story.present == ["new"])
    }

    /// A removed device that pretends to know nothing has not seen them come.
    @Test func whoComesKnowingOfARemovalIsBeyondTheRemoved() {
      var (story, before) = Story.ofTheft()
      story.join("new")
      story.remove("thief", "ann", "new", after: before)
      #expect(story.present == ["new"])
    }

    @Test func whatARemovedDeviceSaysAfterwardsIsVoid() {
      var (story, before) = Story.ofTheft()
      let link = story.invite("thief", after: before)
      story.join("friend", by: link, after: [link])
      let key = story.key("thief", 1, after: [link])
      #expect(story.present == ["ann"] && story.meaning.keys[key] == nil && story.meaning.open.isEmpty)
    }

    /// Else a removed device would say that it leaves, in its own time, and that its new files count.
    @Test func aRemovedDeviceKeepsNothing() {
      let (honest, forged) = (ModelSet.digest(500, 0), ModelSet.digest(501, 0))
      var (story, before) = Story.ofTheft(kept: [honest])
      story.remove("thief", "thief", kept: [forged], after: before)
      let thief = ModelSet.member("thief")
      #expect(story.meaning.counts(fileOf: thief, honest) && !story.meaning.counts(fileOf: thief, forged))
    }

    /// Whoever found the link may have joined by what the maker of the key knew.
    @Test func aKeyFromBeforeACloseIsNotUsed() {
      var story = Story("ann")
      let link = story.invite("ann")
      story.join("bo", by: link)
      let old = story.key("bo", 1)
      #expect(story.meaning.usable == [old])
      story.say("ann", .close(invitation: link))
      #expect(story.meaning.usable.isEmpty && story.meaning.keys[old] != nil)
      let new = story.key("ann", 2)
      #expect(story.meaning.usable == [new])
    }

    @Test func aKeyIsOfAMembership() {
      var story = Story("ann")
      let first = story.key("ann", 1)
      let before = story.heads
      story.join("bo")
      #expect(story.meaning.usable.isEmpty)
      // Made at once by a device that has not heard of the join.
      let unaware = story.key("ann", 2, after: before)
      let aware = story.key("bo", 3)
      #expect(story.meaning.usable == [aware] && Set(story.meaning.keys.keys) == [first, unaware, aware])
    }

    @Test func whoWasInvitedByADeviceThatIsOutIsOut() {
      var story = Story("ann")
      let link = story.invite("ann")
      let before = story.heads
      story.join("bo", by: link)
      story.say("ann", .close(invitation: link))
      story.join("finder", by: link, after: before)
      let second = story.invite("finder", after: [story.records[story.records.count - 1].id])
      story.join("friend", by: second, after: [second])
      #expect(story.present == ["ann", "bo"])
    }

    @Test func aLinkThatIsUsedTwiceAtOnceLetsBothIn() {
      var story = Story("ann")
      let link = story.invite("ann")
      let before = story.heads
      story.join("bo", by: link, after: before)
      story.join("finder", by: link, after: before)
      story.say("ann", .close(invitation: link))
      #expect(story.present == ["ann", "bo", "finder"])
    }

    @Test func aRecordWithoutWhatItNamesWaits() {
      var story = Story("ann")
      let missing = story.join("bo")
      let late = story.remove("bo", "ann")
      let some = Membership(of: story.records.filter { $0.id != missing })
      #expect(some.waiting == [late] && some.removed.isEmpty)
    }

    @Test func whatALaterVersionSaysIsNoticed() {
      var story = Story("ann")
      #expect(!story.meaning.hasNewer)
      story.say("ann", .newer(99))
      #expect(story.meaning.hasNewer && story.present == ["ann"])
    }

    /// Else a removed device would keep all others from sealing.
    @Test func whatADeviceThatIsOutSaysInALaterVersionIsNothing() {
      var (story, before) = Story.ofTheft()
      story.say("thief", .newer(99), after: before)
      story.say("stranger", .newer(99), after: before)
      #expect(!story.meaning.hasNewer)
    }

    /// A device with rights that this version does not know has none here, and nothing is sealed.
    @Test func aRoleOfALaterVersionIsUnknown() {
      var story = Story("ann")
      let link = story.say("ann", .invite(.init(keys: Story.keys, use: .oneDevice, role: 1)))
      story.join("reader", by: link)
      story.remove("reader", "ann")
      #expect(story.meaning.hasNewer && story.present == ["ann"] && story.meaning.open.isEmpty)
    }
  }
#endif
