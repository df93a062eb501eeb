#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  // The compiler looks the types up here.

  @main
  struct TallyMacroPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
      EntityExpansion.self, FieldExpansion.self, MembersExpansion.self, TrackedExpansion.self,
    ]
  }

  #if PlantedFaults
    extension TallyMacroPlugin {
      /// Serves tests of the macros where it is asked to, and otherwise the compiler.
      static func main() throws {
        if CommandLine.arguments.dropFirst() == ["--expand"] { try ExpansionService.run() } else { try serveCompiler() }
      }
    }

    extension CompilerPlugin {
      fileprivate static func serveCompiler() throws { try main() }
    }
  #endif
#else
  // Without the trait: an empty program, for which swift-syntax is not needed.
  @main
  struct TallyMacroPlugin {
    static func main() {}
  }
#endif
