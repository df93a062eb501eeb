#if Macros
  import SwiftDiagnostics
  import SwiftSyntax

  /// The arguments of a `@Field` attribute.
  struct FieldArguments {
    let attribute: AttributeSyntax?
    private var arguments: [LabeledExprSyntax]

    init(_ variable: VariableDeclSyntax) {
      attribute = variable.attribute(named: "Field")
      arguments = Array(attribute?.arguments?.as(LabeledExprListSyntax.self) ?? [])
    }

    private subscript(label: String) -> LabeledExprSyntax? { arguments.first { $0.label?.text == label } }

    var renamedFrom: String? { self["renamedFrom"]?.expression.plainString }

    /// `onDelete` and `isIndexed`, as they are written.
    var referenceArguments: [String] {
      ["onDelete", "isIndexed"].compactMap { self[$0]?.with(\.trailingComma, nil).trimmedDescription }
    }

    /// Returns a diagnostic for each argument that does not fit a property of this type. A type whose name says
    /// nothing is left to the compiler.
    func check(_ name: String, _ type: TypeSyntax, _ variable: VariableDeclSyntax) -> [Diagnostic] {
      guard let attribute else { return [] }
      var diagnostics: [Diagnostic] = []
      if let old = self["renamedFrom"] {
        let reason: String? =
          if type.wrapped.recordTarget != nil {
            "'\(name)' is a reference, and a reference cannot be renamed"
          } else if let text = old.expression.plainString {
            EntityReader.refusal(identifier: text).map { "\"\(text)\" cannot have been its name: \($0)" }
          } else {
            "the former name must be a literal: it never changes"
          }
        if let reason {
          diagnostics.append(
            Diagnostic(
              old, "renamed-from", reason,
              [attribute.removing(argument: "renamedFrom", from: variable)].compactMap { $0 }))
        }
      }
      for label in ["onDelete", "isIndexed"] {
        guard let argument = self[label], type.wrapped.isPlain else { continue }
        diagnostics.append(
          Diagnostic(
            argument, "not-a-reference", "'\(name)' is no reference, and only a reference has '\(label)'",
            [attribute.removing(argument: label, from: variable)].compactMap { $0 }))
      }
      return diagnostics
    }
  }
#endif
