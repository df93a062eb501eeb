#if canImport(SwiftUI)
  import SwiftUI
  import TallySync

  // Typechecked against stubs of SwiftUI, and never run: Tally is built and tested on Linux.

  /// The state of sync as a section of a settings screen: a switch, a row for each peer, and a button to sync now.
  ///
  /// <!-- not compiled here: it needs SwiftUI -->
  /// ```swift
  /// Form { SyncStatusView(engine) { $0.errorCode == "full" ? "Your iCloud storage is full." : $0.lastError } }
  /// ```
  ///
  /// It follows the engine for as long as it is shown. Titles are looked up in the app's string catalog.
  public struct SyncStatusView: View {
    private let engine: SyncEngine
    private let explain: (PeerStatus) -> String?
    @State private var monitor: SyncMonitor

    /// Shows an engine.
    ///
    /// - Parameters:
    ///   - engine: the engine, which the switch pauses and resumes.
    ///   - explain: what a person reads of a peer that failed; the error's own words, in English, unless it is given.
    public init(_ engine: SyncEngine, explain: @escaping (PeerStatus) -> String? = { $0.lastError }) {
      (self.engine, self.explain) = (engine, explain)
      _monitor = State(initialValue: SyncMonitor(engine))
    }

    /// The section.
    public var body: some View {
      Section("Sync") {
        Toggle("Sync", isOn: isOn)
        ForEach(monitor.status.peers) { peer in
          VStack(alignment: .leading) {
            Label(peer.device?.name ?? peer.id, systemImage: symbol(peer))
            if let fraction = peer.fraction { ProgressView(value: fraction) }
            if let problem = explain(peer) { Text(problem).font(.footnote).foregroundStyle(.red) }
          }
          #if os(iOS) || os(macOS) || os(visionOS)
            .badge(Int(clamping: peer.pending ?? 0))
          #endif
        }
        Button("Sync Now") { Task { await engine.syncNow() } }
      }
    }

    private var isOn: Binding<Bool> {
      let (engine, monitor) = (engine, monitor)
      return Binding(
        get: { @MainActor in !monitor.status.isPaused },
        set: { @MainActor isOn in
          Task { if isOn { await engine.resume() } else { await engine.pause() } }
        })
    }

    private func symbol(_ peer: PeerStatus) -> String {
      switch peer.phase {
      case .paused: "pause.circle"
      case .connecting, .syncing: "arrow.triangle.2.circlepath"
      case .live, .idle: "checkmark.circle"
      case .retrying: "clock.arrow.circlepath"
      case .blocked: "exclamationmark.triangle"
      }
    }
  }
#endif
