import ArgumentParser
import Tally

/// The store that a command works on.
struct StoreArguments: ParsableArguments {
  @Argument(help: "The store's file.") var store: String
  @OptionGroup var waiting: WaitingOptions

  /// Opens the store to change it.
  func writing<T>(isDurable: Bool = true, _ body: (Store) throws -> T) throws -> T {
    try OpenStore.writing(store, waiting.timeout, isDurable: isDurable, body)
  }

  /// Opens the store to look at it. With `evenUncaptured`, a table that no store can use is a warning.
  func reading<T>(evenUncaptured: Bool = false, _ body: (Store) throws -> T) throws -> T {
    try OpenStore.reading(store, waiting.timeout, evenUncaptured: evenUncaptured, body)
  }
}

/// The options for waiting for others.
struct WaitingOptions: ParsableArguments {
  @Option(help: "How many seconds to wait while another program writes.") var timeout = 5.0

  func validate() throws {
    guard timeout >= 0, timeout <= 86_400 else { throw ValidationError("--timeout is not between 0 and 86400") }
  }
}
