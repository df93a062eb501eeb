import TallyStore

/// The words that a line of `tally shell` may contain.
enum ShellGuide {
  /// The forms of the commands, with what each answers.
  static let commands: [(form: String, answer: String)] = [
    ("help [COMMAND]", "the forms of the commands, each with what it answers"),
    ("new STORE [FILE]", "creates a store, in memory or in a file; null"),
    ("open STORE FILE", "opens an existing file; null"),
    ("copy STORE NEW [FILE]", "copies a store; in memory it keeps the identity, in a file it is noticed; null"),
    ("renew STORE", "gives up the replica's identity, as a noticed copy does; null"),
    ("close STORE", "closes a store; one in memory is gone; null"),
    ("reset", "closes all stores and starts over; null"),
    ("stores", "the names of the stores"),
    ("clock STORE MILLISECONDS", "stops the clock for local writes there; null"),
    ("put STORE RECORD [FIELD=VALUE | FIELD:=JSON]…", "inserts or changes a record; the dot, null if nothing changed"),
    ("put STORE {\"name\":…,\"fields\":…,\"links\":…}", "the same, of a record as get answers it"),
    ("delete STORE RECORD", "the dot"),
    ("restore STORE RECORD", "the dot"),
    ("link STORE RECORD RELATIONSHIP RECORD", "the dot, null if it was there"),
    ("unlink STORE RECORD RELATIONSHIP RECORD", "the dot, null if there was none"),
    ("get STORE RECORD", "the record, an error if it is not there"),
    ("list STORE TYPE", "the names of its records"),
    ("view STORE", "all records, as the app sees them"),
    ("why STORE RECORD", "the record's history"),
    ("conflicts STORE [LIMIT]", "overwritten values, undone deletes, cleared references, newest first"),
    ("vector STORE", "the state vector"),
    ("delta STORE [VECTOR | STORE]", "what that lacks, or everything, in hexadecimal digits"),
    ("apply STORE DELTA [repair]", "changes, conflicts, mismatch"),
    ("sync STORE STORE", "what each took, bytes, whether both are equal now"),
    ("seed STORE SET", "whether it is new, and what was adopted; SET is JSON, in quotes"),
    ("seeds STORE", "the seed sets"),
    ("status STORE", "replica, vector, fingerprint, counts"),
    ("verify STORE", "how much was checked, and the problems"),
    ("dump STORE", "the whole replicated state; equal replicas answer equally"),
  ]

  /// The first words of the forms.
  static var names: Set<String> { Set(commands.map { name(of: $0.form) }) }

  /// What help answers: all commands, or the forms of one.
  static func help(_ command: String?) -> JSON {
    let forms = commands.filter { command == nil || name(of: $0.form) == command }
    return .array(forms.map { .object(["form": .string($0.form), "answer": .string($0.answer)]) })
  }

  /// - Throws: `Failure` for a word that is no command.
  static func check(_ command: String) throws {
    guard !names.contains(command) else { return }
    let hint = Spelling.hint(for: command, among: names)
    throw Failure(.usage, "there is no command \(shown(command))\(hint.isEmpty ? "; help lists them" : hint)")
  }

  private static func name(of form: String) -> String { String(form.prefix { $0 != " " }) }

  static var text: String { commands.map { "  \($0.form): \($0.answer)" }.joined(separator: "\n") }
}
