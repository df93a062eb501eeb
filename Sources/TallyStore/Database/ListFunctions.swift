import Foundation
import GRDB
import GRDBSQLite
import Synchronization
import TallyCRDT

#if PlantedFaults
  import TallyFaults
#endif

/// Makes positions for all connections of a store, which remember together what runs they have begun.
final class ListKeys: Sendable {
  private let runs = Mutex(ListRuns())
  /// Where randomness comes from, which the first connection says.
  private let mint = Mutex<(@Sendable () -> UInt64)?>(nil)

  private struct Generator: RandomNumberGenerator {
    let mint: @Sendable () -> UInt64
    mutating func next() -> UInt64 { mint() }
  }

  /// Takes randomness from there.
  func follow(_ mint: @escaping @Sendable () -> UInt64) { self.mint.withLock { $0 = mint } }

  #if PlantedFaults
    func plant(_ faults: PlantedFault) {
      let planted: [(PlantedFault, ListRuns.Fault)] = [(.fraction, .fraction), (.gapIsElement, .gapIsElement)]
      runs.withLock { runs in runs.fault = planted.first { faults.contains($0.0) }?.1 }
    }
  #endif

  /// - Throws: `ListPositionError`.
  func between(_ left: ListPosition?, _ right: ListPosition?) throws(ListPositionError) -> ListPosition {
    guard let mint = mint.withLock({ $0 }) else { throw .noPlace }
    let result: Result<ListPosition, ListPositionError> = runs.withLock { runs in
      var generator = Generator(mint: mint)
      do throws(ListPositionError) {
        return .success(try runs.between(left, right, using: &generator))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// The SQL functions for ordered lists: `tally_between(left, right)`, `tally_first(owner)` and `tally_last(owner)`, the
/// last two also with the name of a list behind the owner, where its type has several.
///
/// They make a position each time that they are called. With a third argument, `tally_between` returns null where there
/// is no position, for the store's own calls.
final class ListFunctions {
  private let keys: ListKeys
  /// The lists as the schema of this version of the catalog has them.
  private var lists: (version: Int, schema: Schema)?

  private init(_ keys: ListKeys) { self.keys = keys }

  private struct Refusal: Error { var message: String }

  /// Adds the functions to a connection, each for any number of arguments: to add one costs as much as a small
  /// statement. They change nothing that SQLite knows of, so triggers may call them also where an app does not trust
  /// its schema. https://sqlite.org/c3ref/create_function.html
  static func register(_ database: OpaquePointer, _ keys: ListKeys) throws {
    let functions = ListFunctions(keys)
    for name in ["tally_between", "tally_first", "tally_last"] {
      let call: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void =
        switch name {
        case "tally_between":
          { ListFunctions.answer($0, $1, $2) { functions, arguments, _ in try functions.between(arguments) } }
        case "tally_first": { ListFunctions.answer($0, $1, $2) { try $0.end($1, $2, isFirst: true) } }
        default: { ListFunctions.answer($0, $1, $2) { try $0.end($1, $2, isFirst: false) } }
        }
      let result = sqlite3_create_function_v2(
        database, name, -1, SQLITE_UTF8 | SQLITE_INNOCUOUS, Unmanaged.passRetained(functions).toOpaque(), call, nil,
        nil,
        { pointer in if let pointer { Unmanaged<ListFunctions>.fromOpaque(pointer).release() } })
      guard result == SQLITE_OK else { throw DatabaseError(database, sql: name) }
    }
  }

  private static func answer(
    _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?,
    _ call: (ListFunctions, [OpaquePointer?], OpaquePointer?) throws -> ListPosition?
  ) {
    guard let pointer = sqlite3_user_data(context) else { return sqlite3_result_null(context) }
    let functions = Unmanaged<ListFunctions>.fromOpaque(pointer).takeUnretainedValue()
    do {
      let arguments = (0..<Int(count)).map { values?[$0] }
      let database = sqlite3_context_db_handle(context)
      guard let position = try call(functions, arguments, database) else { return sqlite3_result_null(context) }
      position.bytes.withUnsafeBytes { bytes in
        // SQLite makes a copy.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        sqlite3_result_blob(context, bytes.baseAddress, Int32(bytes.count), copies)
      }
    } catch let refusal as Refusal {
      sqlite3_result_error(context, refusal.message, -1)
    } catch let error as DatabaseError {
      sqlite3_result_error(context, error.message ?? "\(error)", -1)
      sqlite3_result_error_code(context, error.extendedResultCode.rawValue)
    } catch {
      sqlite3_result_error(context, "\(error)", -1)
    }
  }

  private func between(_ arguments: [OpaquePointer?]) throws -> ListPosition? {
    guard (2...3).contains(arguments.count) else { throw Refusal(message: "tally_between takes two positions") }
    let (left, right) = (try Self.position(arguments[0]), try Self.position(arguments[1]))
    do throws(ListPositionError) {
      return try keys.between(left, right)
    } catch {
      guard arguments.count == 2 else { return nil }
      throw Refusal(
        message: error == .tooDeep
          ? "positionTooDeep: a position between these has more than \(ListPosition.byteLimit) bytes; use setOrder"
          : "tally_between: there is no position between these")
    }
  }

  /// Null and an empty blob stand for no neighbor.
  private static func position(_ value: OpaquePointer?) throws -> ListPosition? {
    guard sqlite3_value_type(value) != SQLITE_NULL else { return nil }
    let bytes = UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
    if bytes.isEmpty { return nil }
    guard sqlite3_value_type(value) == SQLITE_BLOB, let position = ListPosition(bytes: Array(bytes)) else {
      throw Refusal(message: "tally_between takes positions: blobs of at most \(ListPosition.byteLimit) bytes")
    }
    return position
  }

  // MARK: The ends of a list

  private func end(_ arguments: [OpaquePointer?], _ database: OpaquePointer?, isFirst: Bool) throws -> ListPosition {
    let name = isFirst ? "tally_first" : "tally_last"
    guard (1...2).contains(arguments.count) else {
      throw Refusal(message: "\(name) takes a record, and the name of a list if its type has several")
    }
    guard let owner = Self.text(arguments[0]), let type = (try? AnyRecordName(owner))?.type else {
      throw Refusal(message: "\(name) takes the name of the record whose list it is")
    }
    guard let database else { throw Refusal(message: "\(name) has no connection") }
    let lists = try schema(database).orderedLists(of: type)
    let wanted = arguments.count > 1 ? Self.text(arguments[1]) : nil
    let found = lists.filter { wanted == nil || $0.name == wanted }
    guard let list = found.first, found.count == 1 else {
      let known = lists.map(\.name).sorted().joined(separator: ", ")
      throw Refusal(
        message: lists.isEmpty
          ? "\(name): \(type) has no ordered list" : "\(name): name one list of \(type) as well: \(known)")
    }
    let query = try SQLStatement(
      database,
      "SELECT \(isFirst ? "min" : "max")(\"\(list.position)\") FROM main.\"\(list.table)\" "
        + "WHERE \"\(list.source)\" = ? AND \"\(list.position)\" > x''")
    query.bind(1, owner)
    let edge = try query.step() ? ListPosition(bytes: query.blob(0)) : nil
    do throws(ListPositionError) {
      return try isFirst ? keys.between(nil, edge) : keys.between(edge, nil)
    } catch {
      throw Refusal(message: "positionTooDeep: there is no room at this end of \(list.name); use setOrder")
    }
  }

  private static func text(_ value: OpaquePointer?) -> String? {
    guard sqlite3_value_type(value) == SQLITE_TEXT, let bytes = sqlite3_value_text(value) else { return nil }
    return String(
      validating: UnsafeBufferPointer(start: bytes, count: Int(sqlite3_value_bytes(value))), as: UTF8.self)
  }

  /// The file's schema. It is read when the catalog has changed.
  private func schema(_ database: OpaquePointer) throws -> Schema {
    let query = try SQLStatement(database, "SELECT value FROM main.tally_meta WHERE key = ?")
    query.bind(1, "catalog")
    let version = try query.step() ? query.int(0) : -1
    if let lists, lists.version == version { return lists.schema }
    query.reset()
    query.bind(1, "schema")
    guard try query.step() else { return Schema() }
    let schema = try Schema(json: Data(query.blob(0)))
    lists = (version, schema)
    return schema
  }
}
