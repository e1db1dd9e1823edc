# The command line tool: built from tool/, as build/npksd.

TOOL_FILES = text tables columns rows programs generator compare ranking verdict json charts report progress main
TOOL_OBJECTS = $(TOOL_FILES:%=$(BUILD)/tool/%.o)
TOOL_COMPILE = $(CC) -std=c99 $(WARN) $(CFLAGS) -I..

.PHONY: npksd

npksd: $(BUILD)/npksd

$(BUILD)/tool:
	@mkdir -p $@

$(BUILD)/tool/%.o: tool/%.c tool/tool.h tool/cells.h $(HEADER) | $(BUILD)/tool
	$(TOOL_COMPILE) -c $< -o $@

$(BUILD)/npksd: $(TOOL_OBJECTS) $(BUILD)/npksd.o
	$(CC) $(CFLAGS) $^ $(LDFLAGS) -o $@ -lm
