#if canImport(SwiftUI)
  import SwiftUI
  import TallyStore
  import TallySync

  // Typechecked against stubs of SwiftUI, and never run: Tally is built and tested on Linux.

  /// What a developer, or a person who writes to support, wants to know of a store and its sync: peers, numbers of
  /// records, what is set aside or in doubt, and a check of the whole file. For a hidden corner of a settings screen.
  ///
  /// <!-- not compiled here: it needs SwiftUI -->
  /// ```swift
  /// NavigationLink("Diagnostics") { TallyDiagnostics(store, engine) }
  /// ```
  ///
  /// It has names of records and no values of theirs. It reads when it appears and when it is asked to; the check reads
  /// all of the store, beside whatever the app does.
  public struct TallyDiagnostics: View {
    private struct Line: Identifiable {
      var id: Int
      var text: String
      var isTrouble: Bool
    }

    private let store: Store
    private let engine: SyncEngine
    @State private var lines: [Line] = []
    @State private var findings: [Line] = []

    /// Shows a store and the engine that syncs it.
    public init(_ store: Store, _ engine: SyncEngine) { (self.store, self.engine) = (store, engine) }

    /// The list.
    public var body: some View {
      List {
        SyncStatusView(engine)
        Section("Store") {
          ForEach(lines) { Text($0.text).foregroundStyle($0.isTrouble ? .red : .primary) }
          Button("Read Again") { Task { await read() } }
        }
        Section("Check") {
          ForEach(findings) { Text($0.text).foregroundStyle($0.isTrouble ? .red : .primary) }
          Button("Check the Store") { Task { await check() } }
        }
      }
      .task { await read() }
    }

    private func read() async {
      do {
        lines = Self.numbered(Self.lines(of: try await store.status()))
      } catch {
        lines = Self.numbered([("\(error)", true)])
      }
    }

    private func check() async {
      findings = Self.numbered([("Checking…", false)])
      do {
        let report = try await store.verify()
        let result = report.isSound ? "Sound: \(report.checked) records and links" : "Not sound"
        findings = Self.numbered(
          [(result, !report.isSound)] + report.problems.map { ($0, true) } + report.setAside.map { ($0, true) })
      } catch {
        findings = Self.numbered([("\(error)", true)])
      }
    }

    private static func lines(of status: StoreStatus) -> [(String, Bool)] {
      var lines = [("\(status.byteCount) bytes", false)]
      for count in status.counts {
        lines.append(("\(count.type): \(count.visible), and \(count.hidden) hidden", false))
      }
      lines.append(("\(status.conflicts) conflicts", false))
      if status.rejectedWrites > 0 {
        lines.append(("\(status.rejectedWrites) writes cannot be replicated as they are", true))
      }
      for row in status.setAside { lines.append(("\(row.row): \(row.reason)", true)) }
      if status.hasTriggerLoop { lines.append(("triggers of two devices answer each other", true)) }
      if let doubt = status.doubt { lines.append(("\(doubt.level.rawValue): \(doubt.reason)", true)) }
      if let renewal = status.renewal {
        lines.append(("a new replica id since \(renewal.date): \(renewal.reason)", false))
      }
      if let lead = status.clockAhead {
        lines.append(("a clock is \(Int(lead.seconds)) s ahead of this device's: \(lead.replica)", true))
      }
      return lines
    }

    private static func numbered(_ lines: [(String, Bool)]) -> [Line] {
      lines.enumerated().map { Line(id: $0.offset, text: $0.element.0, isTrouble: $0.element.1) }
    }
  }
#endif
