#if Macros && PlantedFaults
  import Foundation
  import SwiftDiagnostics
  import SwiftParser
  import SwiftParserDiagnostics
  import SwiftSyntax
  import SwiftSyntaxMacroExpansion
  import SwiftSyntaxMacros

  /// What tests of the macros ask the plugin: a line of standard input is a text as JSON, the line of standard output
  /// after it is what the text expands to, and what is said of it.
  ///
  /// The plugin has swift-syntax already. A test that called the macros itself would have all of swift-syntax compiled
  /// a second time. Only what tests are built with has it.
  enum ExpansionService {
    private struct Answer: Encodable {
      var text: String
      /// What is no Swift in the text that came out.
      var syntaxErrors: [String]
      var diagnostics: [Said]
    }

    private struct Said: Encodable {
      var message: String
      var severity: String
      var line: Int
      var column: Int
      var notes: [String]
      var fixIts: [Proposal]
    }

    private struct Proposal: Encodable {
      var message: String
      var edits: [Edit]
    }

    /// Offsets are bytes of the text that was asked about.
    private struct Edit: Encodable {
      var start: Int
      var end: Int
      var replacement: String
    }

    private static let specs: [String: MacroSpec] = [
      "Entity": MacroSpec(
        type: EntityExpansion.self,
        conformances: ["TableRecord", "Identifiable", "Entity", "FetchableRecord", "PersistableRecord"]),
      "Field": MacroSpec(type: FieldExpansion.self),
      "Members": MacroSpec(type: MembersExpansion.self),
      "Tracked": MacroSpec(type: TrackedExpansion.self),
    ]

    static func run() throws {
      while let line = readLine() {
        let source = try JSONDecoder().decode(String.self, from: Data(line.utf8))
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(expand(source)) + Data("\n".utf8))
      }
    }

    private static func expand(_ source: String) -> Answer {
      let file = Parser.parse(source: source)
      let context = BasicMacroExpansionContext(sourceFiles: [
        file: .init(moduleName: "Test", fullFilePath: "test.swift")
      ])
      let expanded = file.expand(
        macroSpecs: specs,
        contextGenerator: {
          BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
        },
        indentationWidth: .spaces(2))
      return Answer(
        text: expanded.description,
        syntaxErrors: ParseDiagnosticsGenerator.diagnostics(for: expanded).map(\.message),
        diagnostics: context.diagnostics.map { said($0, in: context) })
    }

    private static func said(_ diagnostic: Diagnostic, in context: BasicMacroExpansionContext) -> Said {
      let place = context.location(for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "")
      return Said(
        message: diagnostic.message, severity: "\(diagnostic.diagMessage.severity)", line: place.line,
        column: place.column, notes: diagnostic.notes.map(\.message),
        fixIts: diagnostic.fixIts.map { fixIt in
          Proposal(message: fixIt.message.message, edits: fixIt.changes.map { edit($0, in: context) })
        })
    }

    /// Nodes that a macro is given are apart from their file, and so are their offsets.
    private static func edit(_ change: FixIt.Change, in context: BasicMacroExpansionContext) -> Edit {
      func edit(_ start: AbsolutePosition, _ end: AbsolutePosition, _ node: some SyntaxProtocol, _ new: String) -> Edit
      {
        func offset(_ position: AbsolutePosition) -> Int {
          context.location(for: position, anchoredAt: Syntax(node), fileName: "").offset
        }
        return Edit(start: offset(start), end: offset(end), replacement: new)
      }
      switch change {
      case .replace(let old, let new):
        return edit(old.position, old.endPosition, old, new.description)
      case .replaceLeadingTrivia(let token, let trivia):
        return edit(token.position, token.positionAfterSkippingLeadingTrivia, token, trivia.description)
      case .replaceTrailingTrivia(let token, let trivia):
        return edit(token.endPositionBeforeTrailingTrivia, token.endPosition, token, trivia.description)
      case .replaceChild(let child):
        let range = child.replacementRange
        return edit(range.lowerBound, range.upperBound, child.parent, child.newChild.description)
      case .replaceText(let range, let text, let node):
        return edit(range.lowerBound, range.upperBound, node, text)
      }
    }
  }
#endif
