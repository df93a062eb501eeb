import ArgumentParser
import Tally

struct DumpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump",
    abstract: "Prints the store as JSON lines, the same bytes for the same content.",
    discussion: """
      The canonical form is the whole replicated state: the vector, then records by type and name with existence, fields, \
      stamps, deletes and their contexts, then links with their tags. Converged replicas print the same bytes.
      The view is what the app sees: records by type and name with their fields and links; tally import reads it.

      Examples:
        tally dump a.tally | sha256sum
        tally dump a.tally --view | tally import b.tally -
      """)

  @OptionGroup var store: StoreArguments
  @Flag(help: "Which form.") var form: Form = .canonical
  @OptionGroup var progress: ProgressOptions

  enum Form: String, EnumerableFlag {
    case canonical
    case view
  }

  func run() throws {
    try store.reading { store in
      let bar = try LineProgress("dumping", progress, store, isQuiet: Output.isOnTerminal)
      defer { bar.end() }
      try Output.run { output in
        try store.dump(form == .view ? .view : .canonical) {
          bar.step()
          try output.write($0)
        }
      }
    }
  }
}

struct VectorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vector",
    abstract: "Prints the state vector: how much of which replica is in the store.",
    discussion: """
      One line of replica:sequence pairs, as tally delta --since takes it; empty for an empty store.

      Example: tally delta a.tally --since "$(tally vector b.tally)" -o news.delta
      """)

  @OptionGroup var store: StoreArguments

  func run() throws {
    try store.reading { store in
      let vector = try store.vector
      try Output.run { try $0.line(vector.description) }
    }
  }
}
