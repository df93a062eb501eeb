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

    /// Whether the field is a counter.
    var isCounter: Bool {
      arguments.contains { $0.label == nil && $0.expression.trimmedDescription.hasSuffix(".counter") }
    }

    /// `.greatest` or `.least`, as it is written.
    var extremum: String? {
      arguments.first { $0.label == nil && !isCounter }?.expression.trimmedDescription
    }

    var renamedFrom: String? { self["renamedFrom"]?.expression.plainString }

    /// `from`, `unknown`, `onDelete`, `isIndexed`, `within` and `download`, as they are written.
    var otherArguments: [String] {
      ["from", "unknown", "onDelete", "isIndexed", "within", "download"].compactMap {
        self[$0]?.with(\.trailingComma, nil).trimmedDescription
      }
    }

    /// Why a property cannot be a counter; nil if it can, as far as its text tells.
    private static func refusal(counter name: String, _ type: TypeSyntax, _ value: ExprSyntax?) -> String? {
      if type.isOptional || type.wrapped.isPlain && !type.isInteger {
        return "'\(name)' cannot be a counter: a counter is an integer, such as Int, and always has a number"
      }
      guard value?.isConstant != true else { return nil }
      return "'\(name)' cannot be a counter: the number that it begins with must be a literal, the same for all records"
    }

    /// Why a property cannot keep the greatest or the least; nil if it can, as far as its text tells.
    private static func refusal(extremum name: String, _ type: TypeSyntax, _ value: ExprSyntax?) -> String? {
      if type.wrapped.isPlain && !type.wrapped.isInteger && type.wrapped.trimmedDescription != "Double" {
        return "'\(name)' keeps no greatest or least: that is for an integer or a Double"
      }
      guard !type.isOptional, value?.isConstant == false else { return nil }
      return "'\(name)' keeps no greatest or least: what it begins with must be a literal, the same for all records"
    }

    /// Why a property cannot take the place of another field; nil if it can, as far as its text tells.
    private func refusal(source name: String, _ type: TypeSyntax) -> String? {
      if isCounter {
        return "'\(name)' is a counter, which takes the place of no field: "
          + "declare it beside the other, and show the sum"
      }
      let kind: String? =
        if extremum != nil {
          "a number that keeps the greatest or the least"
        } else if type.wrapped.recordTarget != nil {
          "a reference"
        } else {
          switch type.wrapped.trimmedDescription {
          case "ListPosition": "a position"
          case "AssetName": "an asset"
          case "Data", "UUID": "kept as bytes"
          case "Date": "a date"
          default: nil
          }
        }
      return kind.map {
        "'\(name)' is \($0), and only a plain text, number or Bool takes the place of another field"
      }
    }

    /// Returns a diagnostic for each argument that does not fit a property of this type. A type whose name says
    /// nothing is left to the compiler.
    func check(
      _ name: String, _ type: TypeSyntax, _ value: ExprSyntax?, _ variable: VariableDeclSyntax
    ) -> [Diagnostic] {
      guard let attribute else { return [] }
      var diagnostics: [Diagnostic] = []
      if extremum != nil, let reason = Self.refusal(extremum: name, type, value) {
        let fix = attribute.removal(from: variable, "'@Field'")
        diagnostics.append(Diagnostic(attribute, "extremum", reason, [fix]))
      }
      if isCounter, let reason = Self.refusal(counter: name, type, value) {
        let fix = attribute.removal(from: variable, "'@Field'")
        diagnostics.append(Diagnostic(attribute, "counter", reason, [fix]))
      }
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
      if let source = self["from"], let reason = refusal(source: name, type) {
        diagnostics.append(
          Diagnostic(source, "lens", reason, [attribute.removing(argument: "from", from: variable)].compactMap { $0 }))
      }
      for (label, kind) in [
        ("onDelete", "a reference"), ("isIndexed", "a reference"), ("within", "a position"), ("download", "an asset"),
        ("unknown", "an enum"),
      ] {
        guard let argument = self[label], type.wrapped.isPlain else { continue }
        let noun = String(kind.split(separator: " ")[1])
        diagnostics.append(
          Diagnostic(
            argument, "not-\(kind.replacing(" ", with: "-"))",
            "'\(name)' is no \(noun), and only \(kind) has '\(label)'",
            [attribute.removing(argument: label, from: variable)].compactMap { $0 }))
      }
      return diagnostics
    }
  }
#endif
