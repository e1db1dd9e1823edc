import subprocess,json,sys
n=sys.argv[1]
for name,args in [("faithful","30 2.5 3 .35 .6"),("fast1","30.3 2.5 3 .35 .6"),("fast2","30.6 2.5 3 .35 .6"),("tidy 1.8","30 1.8 3 .35 .6"),("sloppy 3.2","30 3.2 3 .35 .6"),
  ("wind 4","30 2.5 4 .35 .6"),("wind 5","30 2.5 5 .35 .6"),("mix .5","30 2.5 3 .5 .6"),("mix .6","30 2.5 3 .6 .6"),("mix .15","30 2.5 3 .15 .6"),("link 0","30 2.5 3 .35 0"),("link -.6","30 2.5 3 .35 -.6"),("link .9","30 2.5 3 .35 .9")]:
    r=[json.loads(subprocess.check_output(["build/verdict",n,str(s)]+args.split())) for s in range(1,11)]
    lead={}
    for x in r: lead[x["leading"]]=lead.get(x["leading"],0)+1
    print(f"{name:12s} rej {sum(x['reject'] for x in r)}/10 T {sorted(x['statistic'] for x in r)[5]:.2f} lead {lead} adj", [round(sorted(x['adjusted'][k] for x in r)[5],3) for k in range(4)])
