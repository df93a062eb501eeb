#if Inspector
  import Foundation
  import TallyAssets
  import TallyCRDT
  import TallyInspection
  import TallyStore

  /// One question to the API, with what it may need for its answer.
  struct InspectorQuestion: Sendable {
    let parameters: [String: String]
    let body: [UInt8]
    let room: InspectorRoom
    let client: InspectorClient

    /// How long a page of a search may take.
    private static let patience = Duration.milliseconds(60)
    /// Long work ends when its time is over, or when the client has gone.
    private var isOver: @Sendable () -> Bool {
      let (limit, client) = (Clocks.limit(room.limits.query), client)
      return { limit() || client.isGone }
    }

    typealias Refusal = InspectorAPI.Refusal

    /// What is switched, or which store and record is meant.
    struct Wish: Decodable {
      var id: String
      var isOn: Bool?
    }

    func body<T: Decodable>(_ type: T.Type) throws -> T { try JSONDecoder().decode(T.self, from: Data(body)) }

    func number(_ name: String) throws -> Int? {
      guard let text = parameters[name], !text.isEmpty else { return nil }
      guard let number = Int(text), number >= 0 else { throw Refusal.malformed("\(name) is not a number") }
      return number
    }

    private func limit(_ most: Int = 200) throws -> Int { min(max(try number("limit") ?? 50, 1), most) }

    /// The store that the question is about; the first unless it says.
    func inspected(_ parameter: String = "store") throws -> InspectedStore {
      try inspected(at: try number(parameter) ?? 0)
    }

    private func inspected(at number: Int) throws -> InspectedStore {
      guard room.stores.indices.contains(number) else {
        let missing = number - room.stores.count
        if room.unreadable.indices.contains(missing) {
          throw Refusal(status: .unprocessableEntity, code: "unreadable", message: room.unreadable[missing].reason)
        }
        throw Refusal(status: .notFound, code: "noSuchStore", message: "there is no store \(number)")
      }
      return room.stores[number]
    }

    private func required(_ name: String) throws -> String {
      guard let text = parameters[name], !text.isEmpty else { throw Refusal.malformed("\(name) is missing") }
      return text
    }

    /// The most bytes of a text to search for.
    private static let textLimit = 1_000

    /// A text to search for; nil for none. What is too long is refused: its beginning alone would find other records.
    private func text(_ name: String) throws -> String? {
      guard let text = parameters[name], !text.isEmpty else { return nil }
      guard text.utf8.count <= Self.textLimit else {
        throw Refusal.malformed("\(name) is longer than \(Self.textLimit) bytes")
      }
      return text
    }

    // MARK: Reading

    func search() throws -> SearchReport {
      let search = RecordSearch(try text("q") ?? "", in: room.stores.map(\.store))
      var report = try search.step(from: parameters["from"], limit: try limit(), until: Clocks.limit(Self.patience))
      if parameters["from"] == nil {
        report.failures += room.unreadable.enumerated().map { missing in
          SearchReport.Failure(store: room.stores.count + missing.offset, message: missing.element.reason)
        }
      }
      return report
    }

    func rows() throws -> RowReport {
      let place = try number("store") ?? 0
      let store = try inspected(at: place)
      let first = min(try number("column") ?? 0, 10_000)
      var query = RowQuery(try required("type"), columns: first..<first + 30, limit: try limit())
      query.text = try text("text")
      let isHidden = parameters["hidden"] == "1"
      if let column = parameters["sort"], !column.isEmpty {
        guard !isHidden else { throw Refusal.malformed("records that do not show have no order but their own") }
        query.order = RowOrder(by: column, isDescending: parameters["descending"] == "1")
      }
      query.after = try parameters["after"].flatMap { $0.isEmpty ? nil : $0 }.map { text in
        guard let place = Int64(text), place > .min else {
          throw Refusal.malformed("after is no place that a page has given")
        }
        return place
      }
      var others: [Int: StateVector] = [:]
      for number in room.stores.indices where number != place {
        // What cannot be read is not said to lack anything.
        others[number] = try? room.stores[number].store.vector
      }
      guard query.order != nil else {
        return try RowReport(
          of: store.store, query, isHidden: isHidden, room.directory(), besides: others,
          until: Clocks.limit(Self.patience))
      }
      return try store.store.withoutOccupying { store in
        try RowReport(of: store, query, isHidden: false, room.directory(), besides: others, until: isOver)
      }
    }

    /// The picture that a field of a record holds, as what it is and nothing else.
    func picture() throws -> InspectorResponse {
      let (store, name) = (try inspected().store, try AnyRecordName(try required("name")))
      let field = try required("field")
      let entity = try store.schema[name.type]
      let found = try store.history(of: name)?.fields.first { (entity?.columnName($0.field) ?? $0.field) == field }
      guard case .blob(let bytes)? = found?.value, let type = PictureType(bytes) else { throw Refusal.noPicture }
      guard bytes.count <= PictureType.limit else {
        throw Refusal(status: .payloadTooLarge, code: "tooLong", message: "the picture is longer than 4 MiB")
      }
      return InspectorResponse(picture: type, Array(bytes))
    }

    /// The picture in the file of a name, as what it is and nothing else. A path is made only of what has been read as
    /// a name, and the bytes are sent only if they are those of the name.
    func asset() throws -> InspectorResponse {
      let store = try inspected().store
      guard let name = AssetName(try required("name")) else { throw Refusal.malformed("name is not a file's name") }
      guard PictureType.extensions.contains(name.type) else { throw Refusal.noPicture }
      guard name.byteCount <= PictureType.fileLimit else {
        throw Refusal(status: .payloadTooLarge, code: "tooLong", message: "the picture is longer than 32 MiB")
      }
      guard let url = try store.assets.url(of: name) else {
        throw AssetError(.missing, "the file is not on this device")
      }
      let bytes = try content(of: name, at: url)
      guard let type = PictureType(bytes) else { throw Refusal.noPicture }
      return InspectorResponse(picture: type, bytes)
    }

    /// The bytes of a file, which are those of its name. Reading ends when the client has gone.
    private func content(of name: AssetName, at url: URL) throws -> [UInt8] {
      let damage = AssetError(.wrongContent, "the file is damaged; tally assets verify puts it aside")
      let source = try AssetSource(url.path, followsLinks: false)
      guard source.byteCount == name.byteCount else { throw damage }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(name.byteCount)
      let hash = try source.hash { piece in
        guard !client.isGone else { throw CancellationError() }
        bytes += piece
      }
      guard Hexadecimal.text(hash) == name.hash else { throw damage }
      return bytes
    }

    struct Record: Encodable {
      var name: String
      var stores: [RecordReport]
    }

    func record() throws -> Record {
      let name = try AnyRecordName(try required("name"))
      let directory = room.directory()
      let stores = room.stores.map { (name: $0.name, store: $0.store) }
      let reports = stores.enumerated().map { number, own in
        do {
          var report = try RecordReport(of: name, in: own.store, directory)
          // What has not arrived in one store, another may have.
          let others = stores.indices.filter { $0 != number }.map { stores[$0] }
          try report.presence.explain(lackIn: own.store, of: name, besides: others, directory)
          return report
        } catch {
          return RecordReport(of: name, unreadable: "\(error)")
        }
      }
      let missing = room.unreadable.map { RecordReport(of: name, unreadable: $0.reason) }
      return Record(name: name.text, stores: reports + missing)
    }

    struct Conflicts: Encodable {
      var conflicts: [ConflictReport]
      var kept: [KeptReport]
    }

    func conflicts() throws -> Conflicts {
      let store = try inspected().store
      let directory = room.directory()
      return Conflicts(
        conflicts: try store.conflicts(limit: try limit(1_000)).map { ConflictReport($0) },
        kept: try store.keptRecords().map { KeptReport($0, directory) })
    }

    func timeline() throws -> [TimelineReport] {
      let store = try inspected().store
      let replica = try parameters["replica"].flatMap { $0.isEmpty ? nil : $0 }.map { text in
        guard let replica = ReplicaID(text) else { throw Refusal.malformed("replica is not an id") }
        return replica
      }
      let before = try number("before").map { Int64($0) } ?? .max
      let schema = try store.schema
      return try store.transactions(before: before, of: replica, limit: try limit()).map { TimelineReport($0, schema) }
    }

    func storage() throws -> SizeReport {
      let store = try inspected().store
      guard parameters["measure"] == "1" else { return try SizeReport(of: store) }
      return try store.withoutOccupying { try SizeReport(of: $0, measuringUntil: isOver) }
    }

    func difference() throws -> StoreDifference {
      let (one, other) = (try inspected("first"), try inspected("second"))
      let comparison = StoreComparison((one.name, one.store), (other.name, other.store), room.directory())
      let place = parameters["from"].flatMap { $0.isEmpty ? nil : $0 }
      return try comparison.page(from: place, limit: try limit(100), until: Clocks.limit(Self.patience))
    }

    // MARK: Asking with a body

    struct Query: Decodable {
      var store: Int
      var sql: String
    }

    struct Answer: Encodable {
      var columns: [String]
      var rows: [[ValuePreview]]
      var hasMore: Bool
    }

    func query() throws -> Answer {
      let query = try body(Query.self)
      let inspected = try inspected(at: query.store)
      switch try inspected.outcome(of: query.sql, limit: 200, until: isOver) {
      case .result(let result): return Answer(columns: result.columns, rows: result.rows, hasMore: result.hasMore)
      case .refused(let refusal): throw refusal
      case .rejected(let words): throw Refusal(status: .badRequest, code: "sql", message: words)
      case .failed(let code, let message):
        throw Refusal(status: .unprocessableEntity, code: code, message: message)
      }
    }

    private struct Reports: Decodable {
      var first: StoreReport
      var second: StoreReport
    }

    func comparison() throws -> ReportComparison {
      let reports = try body(Reports.self)
      return ReportComparison(reports.first, reports.second)
    }

    struct Target: Decodable {
      var store: Int
      var name: String?
      var id: String?
    }

    struct Verification: Encodable {
      var checked: Int
      var problems: [String]
    }

    func verification() throws -> Verification {
      let client = client
      let report = try inspected(at: try body(Target.self).store).store.withoutOccupying { store in
        try store.verify { client.isGone }
      }
      return Verification(checked: report.checked, problems: report.problems.map { "\($0)" })
    }

    // MARK: Changing

    struct Done: Encodable {
      var dot: String?
    }

    func change(_ path: String) throws -> Done {
      let target = try body(Target.self)
      let store = try inspected(at: target.store).store
      guard try store.isInPlace() else { throw Refusal(status: .conflict, code: "gone", message: InspectorAPI.gone) }
      let name = try AnyRecordName(target.name ?? "")
      switch path {
      case "/api/record/restore": return Done(dot: try store.restore(name).map { "\($0)" })
      case "/api/record/delete":
        let schema = try store.schema
        return Done(dot: try store.commit { try schema.delete($0, name) }.dot.map { "\($0)" })
      default:
        guard let conflict = try store.history(of: name)?.conflicts.first(where: { "\($0.id)" == target.id }) else {
          throw Refusal(status: .notFound, code: "noSuchConflict", message: "the entry is not in the journal any more")
        }
        if path == "/api/conflicts/dismiss" {
          try store.dismiss(conflict)
          return Done(dot: nil)
        }
        return Done(dot: try store.restore(conflict).map { "\($0)" })
      }
    }
  }
#endif
