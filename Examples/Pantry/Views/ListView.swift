#if canImport(SwiftUI)
  import SwiftUI
  import Tally
  import TallySync

  // Written against Apple's documentation. It has been neither compiled nor run: Tally is built and tested on Linux.

  /// The list, with search, swipe to remove, undo, drag to order, and the state of sync below.
  struct ListView: View {
    @State var model: ListModel
    let conflicts: ConflictModel
    let monitor: SyncMonitor
    @State private var problem: String?

    var body: some View {
      List {
        ForEach(model.rows.value) { row in
          Label(
            "\(row.item.amount) × \(row.item.title)", systemImage: row.item.isBought ? "checkmark.circle" : "circle"
          )
          .badge(row.tags.map(\.name).joined(separator: ", "))
          .onTapGesture { perform { try await model.edit(row.id) { $0.isBought.toggle() } } }
          .swipeActions { Button("Remove", role: .destructive) { perform { try await model.remove(row.id) } } }
        }
        .onMove { from, to in
          let rows = model.rows.value
          guard let moved = from.first else { return }
          let before = to > 0 ? rows[to - 1].id : nil
          perform { try await model.move(rows[moved].id, after: before) }
        }
        if let problem { Text(problem).foregroundStyle(.red) }
      }
      .searchable(text: $model.searchText)
      .toolbar {
        if model.removed != nil { Button("Undo") { perform { try model.undoRemove() } } }
        if conflicts.count.value > 0 { Text("\(conflicts.count.value) conflicts") }
        Text(monitor.status.line).font(.footnote)
      }
    }

    private func perform(_ action: @escaping @MainActor () async throws -> Void) {
      Task { do { try await action() } catch { problem = "\(error)" } }
    }
  }

  #Preview {
    if let store = try? Pantry.open(nil) {
      ListView(model: ListModel(store), conflicts: ConflictModel(store), monitor: SyncMonitor(SyncEngine(store)))
    }
  }
#endif
