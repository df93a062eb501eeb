#if canImport(SwiftUI)
  import Foundation
  import SwiftUI
  import TallyAssets
  import TallySchema
  import TallyStore

  // Typechecked against stubs of SwiftUI, and never run: Tally is built and tested on Linux.

  /// The picture in a file that a record's field names, in the space that there is for it. If the file is not on this
  /// device, it is asked for, and a placeholder shows until it has come.
  ///
  /// <!-- not compiled here: it needs SwiftUI -->
  /// ```swift
  /// AssetImage(name: person.photo, in: store) { ProgressView() }
  ///   .frame(width: 120, height: 120)
  ///   .accessibilityLabel(person.name ?? "")
  /// ```
  ///
  /// The placeholder shows also where there is no name. A symbol says that there will be no picture: the file is none
  /// that the system can draw, the store is in memory, or the wish for the file cannot be written to the disk
  /// (`AssetError` of code `inMemory`, `unwritable`). When the view appears again, it tries again.
  ///
  /// A view that goes away, or gets another name, waits no longer. Its wish is kept, as that of
  /// ``TallyAssets/Assets/url(for:)``: the next sync with a place that has the file brings it.
  ///
  /// Cost: one call of the file system, and the file is read and decoded at its full size, by SwiftUI's `AsyncImage`.
  /// A list of many rows had better show small pictures, in files of their own.
  public struct AssetImage<Placeholder: View>: View {
    /// What is known, and of which name: after a change of the name it says nothing of the new one.
    private enum Phase {
      case loading
      case here(AssetName, URL)
      case failed(AssetName)
    }

    private let name: AssetName?
    private let store: Store
    private let placeholder: Placeholder
    @State private var phase = Phase.loading

    /// Shows the picture of a name.
    ///
    /// - Parameters:
    ///   - name: the value of a field of the kind `asset`; nil for no picture.
    ///   - store: the store that has the record. It must not be in memory.
    ///   - placeholder: what shows where there is no picture, and until there is one.
    public init(name: AssetName?, in store: Store, @ViewBuilder placeholder: () -> Placeholder) {
      (self.name, self.store, self.placeholder) = (name, store, placeholder())
    }

    /// The picture, or what shows in its place.
    public var body: some View {
      ZStack {
        switch phase {
        case .here(name, let url):
          AsyncImage(url: url) { loaded in
            if let image = loaded.image {
              image.resizable().scaledToFit()
            } else if loaded.error != nil {
              failure
            } else {
              placeholder
            }
          }
        case .failed(name): failure
        default: placeholder
        }
      }
      .task(id: name) { await load() }
    }

    private var failure: some View {
      Label("The picture cannot be shown", systemImage: "exclamationmark.triangle").labelStyle(.iconOnly)
        .foregroundStyle(.secondary)
    }

    /// Waits for the file. A task that was cancelled leaves the phase alone, since another may have begun.
    private func load() async {
      guard let name else { return }
      do {
        let url = try await store.assets.url(for: name)
        if !Task.isCancelled { phase = .here(name, url) }
      } catch {
        if !Task.isCancelled { phase = .failed(name) }
      }
    }
  }

  extension AssetImage where Placeholder == Image {
    /// Shows the picture of a name, and the symbol of a picture as its placeholder.
    ///
    /// - Parameters:
    ///   - name: the value of a field of the kind `asset`; nil for no picture.
    ///   - store: the store that has the record. It must not be in memory.
    public init(name: AssetName?, in store: Store) {
      self.init(name: name, in: store) { Image(systemName: "photo") }
    }
  }
#endif
