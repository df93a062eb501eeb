#if Inspector
  import ArgumentParser
  import Foundation
  import Tally
  import TallyInspection

  /// Runs one query for `tally inspect`, which ends this process when it takes too long: see `QueryProcess`.
  struct QueryCommand: ParsableCommand {
    static let name = "run-query"
    static let configuration = CommandConfiguration(
      commandName: name, abstract: "Runs one query that reads, for tally inspect.", shouldDisplay: false)

    /// The most bytes of memory.
    private static let memory: rlim_t = 1 << 30
    /// The seconds after which it ends by itself, since the process that started it may have ended.
    private static let longest: UInt32 = 10

    @Argument(help: "The store's file, which another process has open.") var store: String
    @Option(help: "The most rows.") var limit = 200

    func run() throws {
      let sql = try Self.standardInput()
      alarm(Self.longest)
      Self.limitMemory()
      let outcome: QueryOutcome
      do {
        outcome = try OpenStore.beside(store) { store in
          QueryOutcome { try store.query(sql, limit: limit, isLimited: false) { false } }
        }
      } catch {
        let code = (error as? StoreError)?.code.rawValue ?? "failed"
        outcome = .failed(code: code, message: Failure.message(of: error))
      }
      try Output.run { try $0.line(try InspectionJSON.text(outcome)) }
    }

    private static func standardInput() throws -> String {
      guard let bytes = try FileHandle.standardInput.readToEnd() else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Beyond the limit SQLite's allocations fail, and it reports that.
    private static func limitMemory() {
      #if os(Linux)
        var limit = rlimit(rlim_cur: memory, rlim_max: memory)
        setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &limit)
      #endif
    }
  }
#endif
