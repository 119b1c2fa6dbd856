"""The commands `dialwatch ground-truth ...`: cases that answers are compared with."""

import typer

from dialwatch.commands.ground_truth import bad, changing, files, listing, proposing, replaying

app = typer.Typer(no_args_is_help=True, help="Ground truth: questions with right answers, to compare answers with.")

app.command("list")(listing.list_)
app.command("show")(listing.show)
app.command("accept")(changing.accept)
app.command("reject")(changing.reject)
app.command("edit")(changing.edit)
app.command("export")(files.export)
app.command("import")(files.import_)
app.command("bad")(bad.bad)
app.command("extract")(changing.extract)
app.command("propose")(proposing.propose)
app.command("replay")(replaying.replay)
