#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// An error, or what a fix-it does.
  struct EntityMessage: DiagnosticMessage, FixItMessage {
    let message: String
    private let id: String

    init(_ id: String, _ message: String) {
      self.id = id
      self.message = message
    }

    var severity: DiagnosticSeverity { .error }
    var diagnosticID: MessageID { MessageID(domain: "Tally", id: id) }
    var fixItID: MessageID { MessageID(domain: "Tally", id: id + "-fix") }
  }

  /// A fix-it: its message and its changes.
  struct Fix {
    let message: String
    let changes: [FixIt.Change]

    init(_ message: String, _ changes: [FixIt.Change]) {
      self.message = message
      self.changes = changes
    }

    /// Replaces one node; what is around it stays.
    init(_ message: String, replace old: some SyntaxProtocol, with new: some SyntaxProtocol) {
      var node = Syntax(new)
      node.leadingTrivia = old.leadingTrivia
      node.trailingTrivia = old.trailingTrivia
      self.init(message, [.replace(oldNode: Syntax(old), newNode: node)])
    }
  }

  extension Trivia {
    /// The indentation of the last line.
    var indentation: Trivia {
      Trivia(pieces: pieces.reversed().prefix { !$0.isNewline }.reversed())
    }
  }

  extension Diagnostic {
    init(_ node: some SyntaxProtocol, _ id: String, _ message: String, _ fixes: [Fix]) {
      self.init(
        node: node, message: EntityMessage(id, message),
        fixIts: fixes.map { FixIt(message: EntityMessage(id, $0.message), changes: $0.changes) })
    }
  }
#endif
