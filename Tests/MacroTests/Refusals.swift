#if Macros
  import SwiftDiagnostics
  import SwiftParser
  import SwiftSyntax
  import SwiftSyntaxMacroExpansion
  import SwiftSyntaxMacros
  import SwiftSyntaxMacrosGenericTestSupport
  import TallyMacroExpansion
  import Testing

  /// Macros as the compiler runs them, on text.
  enum Refusals {
    static let specs: [String: MacroSpec] = [
      "Entity": MacroSpec(
        type: EntityExpansion.self,
        conformances: ["TableRecord", "Identifiable", "Entity", "FetchableRecord", "PersistableRecord"]),
      "Field": MacroSpec(type: FieldExpansion.self),
      "Members": MacroSpec(type: MembersExpansion.self),
      "Tracked": MacroSpec(type: TrackedExpansion.self),
    ]

    /// What a text expands to, and the errors.
    static func expand(_ source: String) -> (text: String, diagnostics: [Diagnostic]) {
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
      return (expanded.description, context.diagnostics)
    }
  }

  /// Expects one error, its fix-its, and what the first of them (or the one of a name) makes of the text; which then
  /// has no error, unless somebody has to fill it in.
  func expectRefused(
    _ source: String, at line: Int, _ column: Int, _ message: String, fix: String, _ fixed: String,
    others: [String] = [], location: Testing.SourceLocation = #_sourceLocation
  ) {
    let expanded = Refusals.expand(source)
    assertMacroExpansion(
      source, expandedSource: expanded.text,
      diagnostics: [
        DiagnosticSpec(
          message: message, line: line, column: column,
          fixIts: ([fix] + others).map { FixItSpec(message: $0) })
      ],
      macroSpecs: Refusals.specs, applyFixIts: [fix], fixedSource: fixed, indentationWidth: .spaces(2),
      failureHandler: { Issue.record("\($0.message)", sourceLocation: location) })
    guard !fixed.contains("<#") else { return }
    let left = Refusals.expand(fixed).diagnostics.map(\.message)
    #expect(left.isEmpty, "\(fixed)", sourceLocation: location)
  }
#endif
