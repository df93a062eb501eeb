#if Macros
  import Foundation
  import Tally
  import TallyMacros
  import TestEffort
  import Testing

  /// A trip, as an older version of an app knows it.
  @Entity private struct Trip {
    struct Place: Codable, Equatable, Sendable {
      var name = ""
      var note: String?
    }
    struct Plan: Codable, Equatable, Sendable {
      var title = ""
      var days: Int?
      var start = Place()
      var stops: [Place] = []
    }
    struct Guest: Codable, Identifiable, Sendable {
      var id: Int
      var name: String
    }
    enum Way: Codable, Equatable, Sendable {
      case none
      case train(Int)
    }
    var id = RecordName<Trip>()
    var title = ""
    var plan = Plan()
    var packing: [String: Int]?
    var guests: [Guest] = []
    var end: Place?
    var way: Way = .none
    var watched = Place() { didSet { count += 1 } }
    var count = 0
    var recent: [Place] = [] { didSet { if recent.count > 3 { recent.removeLast() } } }
  }

  /// JSON in which a newer version of an app has more keys than this one knows.
  @Suite struct JSONColumnTests {
    private let store: Store

    init() throws { store = try Store(inMemory: Schema(Trip.self)) }

    /// Writes a text, changes the trip as an app does that saves all of it, and returns the text of after.
    private func text(_ column: String, _ before: String, _ change: (inout Trip) -> Void) throws -> String? {
      try store.write { db in
        try Trip().insert(db)
        try db.execute(sql: "UPDATE Trip SET \(column) = ?", arguments: [before])
        var trip = try #require(try Trip.fetchOne(db))
        change(&trip)
        try trip.update(db)
        defer { _ = try? trip.delete(db) }
        return try String.fetchOne(db, sql: "SELECT \(column) FROM Trip")
      }
    }

    @Test(arguments: [
      #"{"title":"Oslo"}"#, #"{ "start": {"name":"A"}, "stops": [], "title" : "Oslo", "new": 1.0 }"#,
      #"{"start":{"name":"A\/B","x":[]},"stops":[{"name":"C","y":{}}],"title":"\u00e9","z":12345678901234567890.5}"#,
    ]) func whatIsNotChangedKeepsItsText(_ before: String) throws {
      let before = before.contains("start") ? before : #"{"title":"Oslo","start":{"name":""},"stops":[]}"#
      #expect(try text("plan", before) { $0.title = "Renamed" } == before)
      #expect(try text("plan", before) { $0.plan.title += "" } == before)
    }

    @Test func keysThatAreNotKnownStay() throws {
      let before = #"{"title":"Oslo","start":{"name":"A","x":1.50},"stops":[],"z":12345678901234567890.5,"w":null}"#
      #expect(
        try text("plan", before) { $0.plan.title = "Bergen" }
          == #"{"start":{"name":"A","x":1.50},"stops":[],"title":"Bergen","w":null,"z":12345678901234567890.5}"#)
      #expect(
        try text("plan", before) { $0.plan.start.name = "B" }
          == #"{"start":{"name":"B","x":1.50},"stops":[],"title":"Oslo","w":null,"z":12345678901234567890.5}"#)
      // Another value of the type is a change of what the type knows.
      #expect(
        try text("plan", before) { $0.plan = Trip.Plan(title: "New", days: 3) }
          == #"{"days":3,"start":{"name":"","x":1.50},"stops":[],"title":"New","w":null,"z":12345678901234567890.5}"#)
    }

    /// An element keeps its own keys wherever it goes, also one that is changed in its place.
    @Test func elementsOfAnArrayKeepTheirKeys() throws {
      let stops = #"{"name":"A","x":1},{"name":"B","x":2},{"name":"C","x":3}"#
      let before = #"{"start":{"name":""},"stops":[\#(stops)],"title":""}"#
      func changed(_ change: (inout [Trip.Place]) -> Void) throws -> String? {
        try text("plan", before) { change(&$0.plan.stops) }
      }
      func with(_ stops: String) -> String { #"{"start":{"name":""},"stops":[\#(stops)],"title":""}"# }
      #expect(try changed { $0[1].name = "D" } == with(#"{"name":"A","x":1},{"name":"D","x":2},{"name":"C","x":3}"#))
      #expect(try changed { $0.swapAt(0, 2) } == with(#"{"name":"C","x":3},{"name":"B","x":2},{"name":"A","x":1}"#))
      #expect(try changed { $0.remove(at: 0) } == with(#"{"name":"B","x":2},{"name":"C","x":3}"#))
      #expect(
        try changed { $0.insert(Trip.Place(name: "N"), at: 1) }
          == with(#"{"name":"A","x":1},{"name":"N"},{"name":"B","x":2},{"name":"C","x":3}"#))
      // Which of them was changed, only its place can tell.
      #expect(
        try changed { $0[1].note = "x" }
          == with(#"{"name":"A","x":1},{"name":"B","note":"x","x":2},{"name":"C","x":3}"#))
    }

    /// Keys that the type knows go when it takes them out, in whatever form the text has them.
    @Test func whatIsTakenOutIsGone() throws {
      #expect(
        try text("packing", #"{"soap":1,"a\/b":2,"\u0063":3}"#) { trip in
          trip.packing?["a/b"] = nil
          trip.packing?["c"] = 4
        } == #"{"c":4,"soap":1}"#)
      #expect(try text("packing", #"{"soap":1}"#) { $0.packing = nil } == nil)
      #expect(try text("packing", #"{"soap":1}"#) { $0.packing = [:] } == "{}")
      #expect(try text("packing", "{}") { $0.packing = ["a\"b\\": 1] } == #"{"a\"b\\":1}"#)
      let before = #"{"days":3,"new":1,"start":{"name":"A","note":"n"},"stops":[],"title":""}"#
      #expect(
        try text("plan", before) { trip in
          trip.plan.days = nil
          trip.plan.start.note = nil
        } == #"{"new":1,"start":{"name":"A"},"stops":[],"title":""}"#)
    }

    /// Text that begins with what joins the character before it, and blanks of each kind.
    @Test func lettersAreBytes() throws {
      let start = "\"start\":{\"name\":\"\u{301}\"},"
      let before = "{\(start)\r\n\t\"stops\":[],\"title\":\"\u{301}\\\\\",\"n\u{301}\":\"\u{301}\"}"
      #expect(
        try text("plan", before) { $0.plan.days = 1 }
          == "{\"days\":1,\"n\u{301}\":\"\u{301}\",\(start)\"stops\":[],\"title\":\"\u{301}\\\\\"}")
    }

    /// A record is fetched once, and saved after each change.
    private func texts(_ column: String, _ before: String, _ changes: ((inout Trip) -> Void)...) throws -> [String?] {
      try store.write { db in
        try Trip().insert(db)
        try db.execute(sql: "UPDATE Trip SET \(column) = ?", arguments: [before])
        var trip = try #require(try Trip.fetchOne(db))
        let texts = try changes.map { change in
          change(&trip)
          try trip.update(db)
          return try String.fetchOne(db, sql: "SELECT \(column) FROM Trip")
        }
        try trip.delete(db)
        return texts
      }
    }

    @Test func aRecordThatIsSavedTwiceGoesOnFromWhatItSaved() throws {
      let guests = #"[{"id":1,"name":"A","x":1},{"id":2,"name":"B","x":2},{"id":3,"name":"C","x":3}]"#
      #expect(
        try texts("guests", guests, { $0.guests[1].name = "D" }, { $0.guests.removeFirst() }) == [
          #"[{"id":1,"name":"A","x":1},{"id":2,"name":"D","x":2},{"id":3,"name":"C","x":3}]"#,
          #"[{"id":2,"name":"D","x":2},{"id":3,"name":"C","x":3}]"#,
        ])
      #expect(
        try texts("guests", guests, { $0.guests.reverse() }, { $0.guests[0].name = "D" }).last
          == #"[{"id":3,"name":"D","x":3},{"id":2,"name":"B","x":2},{"id":1,"name":"A","x":1}]"#)
      // What is taken out is gone, also if something like it comes later.
      #expect(
        try texts("guests", guests, { $0.guests = [] }, { $0.guests = [.init(id: 1, name: "A")] }).last
          == #"[{"id":1,"name":"A"}]"#)
      #expect(
        try texts("end", #"{"name":"A","x":1}"#, { $0.end = nil }, { $0.end = Trip.Place(name: "B") }) == [
          nil, #"{"name":"B"}"#,
        ])
      #expect(
        try texts("packing", #"{"soap":1}"#, { $0.packing?["soap"] = nil }, { $0.packing?["soap"] = 2 }).last
          == #"{"soap":2}"#)
    }

    /// Each change is followed, so an element that is moved and changed keeps its own.
    @Test func anElementThatMovesAndChangesKeepsItsKeys() throws {
      let guests = #"[{"id":1,"name":"A","x":1},{"id":2,"name":"B","x":2}]"#
      func changed(_ change: (inout [Trip.Guest]) -> Void) throws -> String? {
        try text("guests", guests) { change(&$0.guests) }
      }
      #expect(
        try text("guests", guests) { trip in
          trip.guests.removeFirst()
          trip.guests[0].name = "D"
        } == #"[{"id":2,"name":"D","x":2}]"#)
      #expect(
        try text("guests", guests) { trip in
          trip.guests.swapAt(0, 1)
          trip.guests[0].name = "D"
        } == #"[{"id":2,"name":"D","x":2},{"id":1,"name":"A","x":1}]"#)
      // In one go another element in its place is another, and gets nothing of it.
      #expect(
        try changed { $0[0] = Trip.Guest(id: 9, name: "A") }
          == #"[{"id":9,"name":"A"},{"id":2,"name":"B","x":2}]"#)
    }

    /// A loop over many elements sets the property each time.
    /// As a form does that edits a copy of the list.
    @Test func oneAssignmentMayChangeSomeElementsAndAddOrRemoveOthers() throws {
      let named = #"[{"name":"A","u":1},{"name":"B","u":2},{"name":"C","u":3}]"#
      func names(_ change: (inout [Trip.Place]) -> Void) throws -> String? {
        try text("plan", #"{"title":"","start":{"name":""},"stops":\#(named)}"#) { trip in
          var stops = trip.plan.stops
          change(&stops)
          trip.plan.stops = stops
        }.map { text in String(text.drop { $0 != "[" }.prefix { $0 != "]" }) + "]" }
      }
      #expect(
        try names {
          $0[0].name = "X"
          $0.append(Trip.Place(name: "D"))
        } == #"[{"name":"X","u":1},{"name":"B","u":2},{"name":"C","u":3},{"name":"D"}]"#)
      #expect(
        try names {
          $0[2].name = "X"
          $0.append(Trip.Place(name: "D"))
        } == #"[{"name":"A","u":1},{"name":"B","u":2},{"name":"X","u":3},{"name":"D"}]"#)
      #expect(
        try names {
          $0[2].name = "X"
          $0.insert(Trip.Place(name: "D"), at: 0)
        } == #"[{"name":"D"},{"name":"A","u":1},{"name":"B","u":2},{"name":"X","u":3}]"#)
      // Which of the two is gone nobody can tell, and what one had is not given to another.
      #expect(
        try names {
          $0[2].name = "X"
          $0.remove(at: 1)
        } == #"[{"name":"A","u":1},{"name":"X"}]"#)

      let numbered = #"[{"id":1,"name":"A","u":1},{"id":2,"name":"B","u":2},{"id":3,"name":"C","u":3}]"#
      func guests(_ change: (inout [Trip.Guest]) -> Void) throws -> String? {
        try text("guests", numbered) { trip in
          var guests = trip.guests
          change(&guests)
          trip.guests = guests
        }
      }
      #expect(
        try guests {
          for index in $0.indices { $0[index].name = "X" }
          $0.swapAt(0, 2)
          $0.remove(at: 1)
          $0.append(Trip.Guest(id: 4, name: "D"))
        } == #"[{"id":3,"name":"X","u":3},{"id":1,"name":"X","u":1},{"id":4,"name":"D"}]"#)
    }

    @Test func anObserverMayChangeItsOwnProperty() throws {
      let before = #"[{"name":"A","u":1},{"name":"B","u":2},{"name":"C","u":3}]"#
      let after = try text("recent", before) { trip in
        trip.recent.insert(Trip.Place(name: "D"), at: 0)
        trip.recent[1].name = "X"
        trip.recent.swapAt(1, 2)
      }
      #expect(after == #"[{"name":"D"},{"name":"B","u":2},{"name":"X","u":1}]"#)
    }

    @Test func manyElementsAreChangedOneByOne() throws {
      let count = Effort.isLong ? 3000 : 60
      let guests = (0..<count).map { #"{"id":\#($0),"name":"A","x":\#($0)}"# }
      let changed = (0..<count).map { #"{"id":\#($0),"name":"B","x":\#($0)}"# }
      #expect(
        try text("guests", "[\(guests.joined(separator: ","))]") { trip in
          for index in 0..<count { trip.guests[index].name = "B" }
        } == "[\(changed.joined(separator: ","))]")
    }

    @Test func aPropertyWithAnObserverOfItsOwnIsFollowed() throws {
      let texts = try texts(
        "watched", #"{"name":"A","x":1}"#, { $0.watched.name = "B" }, { $0.watched = Trip.Place(name: "C") })
      #expect(texts == [#"{"name":"B","x":1}"#, #"{"name":"C","x":1}"#])
    }

    /// A case with a value, of which only a newer version knows.
    @Test func aValueThatCannotBeReadIsForgottenOnceAnotherWasChosen() throws {
      let ship = #"{"ship":{"_0":1}}"#
      #expect(try text("way", ship) { $0.title = "x" } == ship)
      #expect(
        try text("way", ship) { trip in
          trip.way = .train(1)
          trip.way = .none
        } == #"{"none":{}}"#)
    }

    /// What is kept may be private.
    @Test func whatIsKeptIsNotPrinted() throws {
      let trip = try store.write { db in
        try Trip().insert(db)
        try db.execute(sql: #"UPDATE Trip SET way = '{"secret":{}}', plan = '{"secret":1}'"#)
        return try #require(try Trip.fetchOne(db))
      }
      var dumped = ""
      dump(trip, to: &dumped)
      #expect(!"\(trip)".contains("secret") && !String(reflecting: trip).contains("secret"))
      #expect(!dumped.contains("secret"))
    }

    /// Two devices with two versions of the app, which both save.
    @Test func aNewerDeviceKeepsWhatAnOlderOneDoesNotKnow() throws {
      let newer = try Store(inMemory: Schema(Trip.self))
      try newer.write { db in
        try Trip().insert(db)
        try db.execute(sql: #"UPDATE Trip SET plan = '{"start":{"name":"A"},"stops":[],"tempo":"slow","title":"T"}'"#)
      }
      try store.sync(with: newer)
      try store.write { db in
        var trip = try #require(try Trip.fetchOne(db))
        trip.plan.title = "Old app"
        try trip.save(db)
      }
      try store.sync(with: newer)
      let text = try newer.read { try String.fetchOne($0, sql: "SELECT plan FROM Trip") }
      #expect(text == #"{"start":{"name":"A"},"stops":[],"tempo":"slow","title":"Old app"}"#)
    }
  }
#endif
