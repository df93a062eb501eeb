import GRDB
import TallyStore

/// The outcome of a person's own query, here or in another process.
package enum QueryOutcome: Sendable, Codable {
  /// It was run.
  case result(QueryResult)
  /// It was not run, or was ended.
  case refused(QueryRefusal)
  /// SQLite does not take it; its words.
  case rejected(String)
  /// The store cannot be read: the code of its error, and the message.
  case failed(code: String, message: String)

  /// The outcome of the query that `body` runs.
  package init(_ body: () throws -> QueryResult) {
    do {
      self = .result(try body())
    } catch let error as QueryRefusal {
      self = .refused(error)
    } catch let error as StoreError {
      self = .failed(code: error.code.rawValue, message: error.message)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_NOMEM {
      self = .refused(.tooLarge)
    } catch let error as DatabaseError {
      self = .rejected(error.message ?? "\(error.resultCode)")
    } catch {
      self = .failed(code: "failed", message: "\(error)")
    }
  }
}
