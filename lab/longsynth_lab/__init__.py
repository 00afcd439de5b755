"""The lab: one harness for studies, searches and evidence pages. It is not part of the wheel.

experiments   what to run, as data: settings, methods, seeds, measures
patients      where patients come from; split: training, validation and test parts
variants      a method with other public settings, as a separate row
trial         one method on one population; measures: everything that can be measured of it
runner        runs trials in processes, resumably, and collects the results
results       the tidy table: one number per row, with everything that made it
statistics    summaries over seeds, paired tests
versions      which code made a row; probes recognise code that only moved
seeds         which seeds may choose settings and which may evaluate
labels, tables, membership: shared by all pages
evidence/     the pages on quality: comparisons with rivals, targets, constants, the game
paper/        the paper's study: section V, its tables, figures, report, page and checks
studies, commands: `longsynth bench`
"""
